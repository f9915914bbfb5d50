"""Breakpoints: the run stops where the user asked, and goes on as if it had not."""

from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, FtlabWarning, UnknownNameError
from tests.replay.breakage import Breaking, Setup
from tests.session.debugging.test_debug import debugging, same


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
        dbg.break_at("layers.0", when="deviates", step=range(3))
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
    scaler = torch.amp.GradScaler(
        "cpu", init_scale=2.0, growth_factor=2.0**20, growth_interval=25
    )
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
    assert scaler.get_scale() > 1e6


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
        ({"finding": "GRD002", "when": "deviates"}, "waits for a rule's finding"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(wrong, said):
    with debugging(healthy()) as dbg, pytest.raises(BadValueError, match=said):
        dbg.break_at(**wrong)


def test_an_unknown_rule_is_refused():
    with debugging(healthy()) as dbg, pytest.raises(UnknownNameError):
        dbg.break_at(finding="GRD999")


# -- what users get wrong, and what goes wrong under them


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"module": "layers.*.mlpp"}, "no such module"),
        ({"parameter": "lora_C"}, "no such parameter"),
    ],
)
def test_names_that_nothing_matches_are_refused(wrong, said):
    with debugging(healthy()) as dbg, pytest.raises(UnknownNameError, match=said):
        dbg.break_at(**wrong)


def test_a_step_alone_stops_at_its_first_operation():
    with debugging(healthy()) as dbg:
        dbg.break_at(step=3)
        (stop,) = stops(dbg)
    assert (stop.step, stop.site.index) == (3, 0)


def test_a_parameter_alone_stops_where_its_gradient_is_made():
    with debugging(healthy()) as dbg:
        dbg.break_at(parameter="layers.0.*.lora_B.default.weight", step=1)
        (stop,) = stops(dbg)
    assert (stop.step, stop.phase) == (1, "backward")
    assert stop.condition.endswith("its gradient is there")


def test_a_function_that_fails_elsewhere_in_the_step_does_not_end_the_run():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))

    def step(batch):
        model(batch).sum().backward()

    with ftlab.debug(step, [torch.ones(1, 2)] * 2, model=model) as dbg:
        dbg.break_at("0", when=lambda x: x[:, 0].abs().max() > 0)
        dbg.break_at(step=lambda _: 1 / 0)
        with pytest.warns(FtlabWarning, match="ZeroDivisionError.*It is off"):
            found = stops(dbg)
    assert {each.module for each in found} == {"0"}


def test_removed_at_a_stop_it_does_not_stop_again():
    with debugging(healthy()) as dbg:
        point = dbg.break_at("layers.*.mlp", step=1)
        dbg.run()
        point.remove()
        assert dbg.resume().state == "finished"


def test_a_counter_of_the_steps_own_counts_once():
    def counted(stop: bool) -> Any:
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        seen = 0

        def step(batch):
            nonlocal seen
            seen += 1
            model(batch).sum().backward()
            if seen % 3 == 0:
                optimizer.step()
                optimizer.zero_grad()

        feed = [torch.ones(1, 2) * i for i in range(9)]
        with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
            if stop:
                dbg.break_at("*")
            assert bool(stops(dbg)) == stop
        assert seen == 9
        return model

    assert torch.equal(counted(stop=True).weight, counted(stop=False).weight)


def test_gradients_of_a_parameter_outside_the_model_count_once():
    def trained_with(stop: bool) -> torch.Tensor:
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 1)
        temperature = torch.nn.Parameter(torch.ones(()))
        optimizer = torch.optim.SGD([*model.parameters(), temperature], lr=0.1)

        def step(batch):
            (model(batch["x"]).sum() / temperature).backward()
            if batch["last"]:
                optimizer.step()
                optimizer.zero_grad()

        feed = [{"x": torch.ones(1, 2), "last": i % 2 == 1} for i in range(4)]
        with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
            if stop:
                dbg.break_at(step=1)
            stops(dbg)
        return temperature.detach()

    assert torch.equal(trained_with(stop=True), trained_with(stop=False))


def test_a_second_run_has_a_history_of_its_own():
    dbg, model = spiking(1.0, at=99)
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    with dbg:
        dbg.break_at(when="deviates")
        assert stops(dbg) == []
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(start[name] * 1e4)
        assert stops(dbg) == []


def test_a_level_that_has_shifted_for_good_is_no_news_for_ever():
    dbg, model = spiking(1.0, at=99, count=60)
    step = []

    def raised(module, args, output):
        step.append(1)
        return output * (1e6 if len(step) > 25 else 1.0)

    model[1].register_forward_hook(raised)
    with dbg:
        dbg.break_at("1", when="deviates")
        assert 1 <= len(stops(dbg)) <= 4


def test_modules_of_a_compiled_model_are_left_alone_and_that_is_said():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    model.compile(backend="aot_eager")

    def step(batch):
        model(batch).sum().backward()

    with ftlab.debug(step, [torch.ones(1, 2)], model=model) as dbg:
        point = dbg.break_at("0", when=lambda _: True)
        with pytest.warns(FtlabWarning, match="compiled code cannot be looked at"):
            assert dbg.run().state == "finished"
    assert not point.enabled


def test_a_watch_hears_the_loss_of_a_step_that_was_stopped_in(tmp_path):
    setup = healthy()
    with (
        ftlab.watch(setup.model, setup.optimizer, run_dir=tmp_path / "run") as watch,
        debugging(setup) as dbg,
    ):
        dbg.break_at(step=1)
        assert len(stops(dbg)) == 1
    assert torch.tensor(watch.run.steps["loss"]).isfinite().all()


def test_a_finding_stops_the_run_once(tmp_path):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)

    def step(batch):
        optimizer.zero_grad()
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        watch.sync()
        return loss

    feed = [torch.full((1, 2), float("nan"))] + [torch.ones(1, 2)] * 4
    with (
        ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch,
        ftlab.debug(step, feed, model=model, optimizer=optimizer, on_pause=None) as dbg,
    ):
        dbg.break_at(finding="NUM001")
        found = stops(dbg)
    reasons = [each.condition[:6] for each in found if each.reason == "breakpoint"]
    assert reasons == ["NUM001"]


def test_a_finding_without_a_watch_is_switched_off():
    with debugging(healthy()) as dbg:
        point = dbg.break_at(finding="GRD002")
        with pytest.warns(FtlabWarning, match="the model is not watched"):
            assert dbg.run().state == "finished"
    assert not point.enabled
