"""Breakpoints: the run stops where the user asked, and goes on as if it had not."""

from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, FtlabWarning, UnknownNameError
from tests.replay.breakage import Breaking, Setup
from tests.session.debugging.test_debug import debugging, same
from tests.session.scenarios import one_thread


@pytest.fixture(autouse=True)
def _single_thread():
    with one_thread():
        yield


def healthy() -> Setup:
    return Setup(lambda x: x)


def trained(setup: Setup) -> dict[str, torch.Tensor]:
    for batch in setup.feed:
        setup.step(batch)
    return setup.weights()


def stops(dbg: Any, **kwargs: Any) -> list[Any]:
    """Run to the end and return the reports of all stops."""
    found = [dbg.run(**kwargs)]
    while dbg.state == "paused":
        found.append(dbg.resume())
    return found[:-1]


def test_stops_at_each_stay_in_a_module():
    with debugging(healthy()) as dbg:
        point = dbg.break_at("layers.*.mlp.act_fn", step=1, phase="forward")
        found = stops(dbg)
    assert [(each.step, each.reason, each.module) for each in found] == [
        (1, "breakpoint", f"base_model.model.model.layers.{inside}")
        for inside in ("0.mlp.act_fn", "1.mlp.act_fn.inner")
    ]
    assert point.hits == 2


def test_stops_at_an_operation_by_name():
    with debugging(healthy()) as dbg:
        dbg.break_at(op="aten._log_softmax", step={0, 2})
        found = stops(dbg)
    assert [(each.step, each.op) for each in found] == [
        (0, "aten._log_softmax.default"),
        (2, "aten._log_softmax.default"),
    ]


def test_a_step_may_be_a_function_and_a_breakpoint_be_switched_off():
    with debugging(healthy()) as dbg:
        odd = dbg.break_at(op="aten._log_softmax", step=lambda step: step % 2 == 1)
        off = dbg.break_at(op="aten._log_softmax")
        off.enabled = False
        assert {each.step % 2 for each in stops(dbg)} == {1}
        odd.remove()
        odd.remove()
        assert stops(dbg) == []
    assert repr(dbg.breakpoints) == "0 Breakpoint(aten._log_softmax, off)"


def test_stopping_changes_nothing():
    stopped, plain = healthy(), healthy()
    with debugging(stopped) as dbg:
        dbg.break_at("layers.1.mlp", step=1)
        dbg.break_at(when="near overflow")
        dbg.break_at("layers.*.mlp", when=lambda _: torch.rand(()) > 2)
        dbg.break_at(op="aten.mm", when="deviates", step=range(3))
        assert stops(dbg)
    assert same(stopped.weights(), trained(plain))


class Spike(torch.nn.Module):
    """Multiplies by a factor that a test sets."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.factor) + 0


def spiking(factor: float, at: int, count: int = 24) -> Any:
    """A debugger of a small loop in which a factor is inserted in one step."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), Spike(), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = [(i, torch.randn(16, 4)) for i in range(count)]

    def step(batch):
        number, x = batch
        model[1].factor = factor if number == at else 1.0
        optimizer.zero_grad()
        loss = (model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()

    return ftlab.debug(step, batches, model=model, optimizer=optimizer), model


def test_a_large_value_is_traced_to_the_operation_that_made_it():
    dbg, _ = spiking(1e30, at=2)
    with dbg:
        dbg.break_at("1", when=lambda x: x.abs().max() > 1e20)
        (stop,) = stops(dbg)
    assert (stop.step, stop.op, stop.module) == (2, "aten.mul.Tensor", "1")
    assert "your function is true" in stop.condition
    assert stop.chain
    assert "your function is true" in stop.headline()


def test_a_gradient_that_leaves_its_history_is_found_before_it_is_clipped():
    dbg, _ = spiking(1e-9, at=20)
    with dbg:
        dbg.break_at(parameter="0.weight", when="deviates")
        (stop,) = stops(dbg)
    assert (stop.step, stop.phase) == (20, "backward")
    assert stop.condition.startswith("0.weight: root mean square")
    assert "robust deviations from the median" in stop.condition


def test_a_history_is_kept_in_true_scale_under_a_scaler():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0, growth_interval=1)
    torch.manual_seed(0)

    def step(batch):
        optimizer.zero_grad()
        scaler.scale(model(batch).pow(2).mean()).backward()
        scaler.step(optimizer)
        scaler.update()

    feed = [torch.randn(16, 4) for _ in range(40)]
    with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
        dbg.break_at(when="deviates")
        assert stops(dbg) == []
    assert scaler.get_scale() > 1e9


def test_a_module_that_leaves_its_history_is_found():
    dbg, _ = spiking(1e6, at=20)
    with dbg:
        dbg.break_at("1", when="deviates")
        (stop,) = stops(dbg)
    assert (stop.step, stop.module, stop.op) == (20, "1", "aten.add.Tensor")


def test_a_gradient_that_becomes_zero_is_found_where_it_does():
    dbg, _ = spiking(0.0, at=3)
    with dbg:
        dbg.break_at(when="all zero")
        stop, *others = stops(dbg)
    assert (stop.step, stop.phase, stop.module) == (3, "backward", "1")
    assert stop.op == "aten.mul.Tensor"
    assert not others


def test_what_was_always_zero_is_no_news():
    model = torch.nn.Linear(2, 2)
    model.bias.register_hook(torch.zeros_like)
    feed = [torch.ones(1, 2)] * 4

    def step(batch):
        model.zero_grad()
        model(batch).sum().backward()

    with ftlab.debug(step, feed, model=model) as dbg:
        dbg.break_at(when="all zero")
        assert stops(dbg) == []


def test_an_overflow_that_is_coming_is_found_in_half_precision():
    half = Breaking(torch.nn.Identity(), lambda x: (x.half() * 0 + 40000).float())
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), half)

    def step(batch):
        half.broken = batch.sum() > 3
        model.zero_grad()
        model(batch).sum().backward()

    feed = [torch.ones(1, 2), torch.ones(1, 2) * 2]
    with ftlab.debug(step, feed, model=model) as dbg:
        dbg.break_at("1", when="near overflow")
        assert stops(dbg) == []  # the module's output is float32 again
        dbg.break_at(op="*", when="near overflow")
        (stop,) = stops(dbg)
    assert (stop.micro_batch, stop.op) == (1, "aten.add.Tensor")
    assert stop.condition == "61% of the dtype's range"


def test_logits_that_leave_one_class_are_saturated():
    logits = torch.nn.Linear(4, 8)
    sharp = torch.eye(8)[:, :4] * 40

    def step(batch):
        logits.zero_grad()
        torch.nn.functional.cross_entropy(
            logits(batch), torch.zeros(4, dtype=torch.long)
        ).backward()

    with ftlab.debug(step, [torch.eye(4)], model=logits) as dbg:
        dbg.break_at("*", when="saturated")
        dbg.break_at(op="aten._log_softmax", when=ftlab.when.saturated())
        assert stops(dbg) == []
        with torch.no_grad():
            logits.weight.copy_(sharp)
        found = stops(dbg)
    assert found[0].op == "aten.addmm.default"


def test_a_nan_after_a_breakpoint_is_still_found():
    with debugging(Setup()) as dbg:
        dbg.break_at("layers.0.mlp", step=2, phase="forward")
        found = stops(dbg)
    assert [each.reason for each in found[:2]] == ["breakpoint", "anomaly"]
    assert found[1].op == "aten.log.default"


def test_a_function_that_fails_is_switched_off_and_training_goes_on():
    with debugging(healthy()) as dbg:
        point = dbg.break_at("layers.0.mlp", when=lambda x: x.no_such_thing)
        with pytest.warns(FtlabWarning, match="no_such_thing.*It is off"):
            assert dbg.run().state == "finished"
    assert not point.enabled


def test_a_function_that_writes_changes_nothing():
    written, plain = healthy(), healthy()

    def spoil(x):
        x.zero_()
        return False

    with debugging(written) as dbg:
        dbg.break_at("layers.0.mlp", when=spoil)
        dbg.run()
    assert same(written.weights(), trained(plain))


def test_steps_on_from_a_breakpoint():
    with debugging(healthy()) as dbg:
        dbg.break_at("layers.1.mlp", step=1, phase="forward")
        here = dbg.run().site.index
        assert dbg.step().site.index == here + 1
        assert dbg.back(count=2).site.index == here - 1
        assert dbg.resume().state == "finished"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"when": "near overflw"}, "near ones are 'near overflow'"),
        ({"when": 3}, "pass a function of a tensor"),
        ({"parameter": "a", "op": "b"}, "use one breakpoint for each"),
        ({"phase": "sideways"}, "pass 'forward' or 'backward'"),
        ({"finding": "GRD002", "when": "deviates"}, "goes by what a rule found"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(wrong, said):
    with debugging(healthy()) as dbg, pytest.raises(BadValueError, match=said):
        dbg.break_at(**wrong)


def test_an_unknown_rule_is_refused():
    with debugging(healthy()) as dbg, pytest.raises(UnknownNameError):
        dbg.break_at(finding="GRD999")
