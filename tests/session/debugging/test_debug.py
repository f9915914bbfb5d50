"""The debugger stops at the right place, before the weights change."""

import _thread
import gc
import threading
import time
import warnings
import weakref
from typing import Any

import pytest
import torch
import transformers
from torch.optim.optimizer import register_optimizer_step_pre_hook

import ftlab
from benchmarks.anomalies.registry import load
from ftlab.records.errors import (
    AttachError,
    BadValueError,
    FtlabWarning,
    NotPausedError,
    NotReplayableError,
    UnknownNameError,
)
from tests.models import tiny_4bit, tiny_llama
from tests.replay.breakage import (
    GivesNan,
    NanBackward,
    Setup,
    harmless_infinity,
    log_of_zero,
    overflow,
    root_at_zero,
)
from tests.session.scenarios import trainer


def debugging(setup: Setup, step: Any = None, **options: Any) -> Any:
    return ftlab.debug(
        step or setup.step,
        setup.feed,
        model=setup.model,
        optimizer=setup.optimizer,
        **options,
    )


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


# -- where it stops


@pytest.mark.parametrize(
    ("fault", "op", "what"),
    [
        (log_of_zero, "aten.log.default", "inf"),
        (GivesNan.apply, "aten.mul.Tensor", "nan"),
        (overflow, "aten.mul.Tensor", "inf"),
    ],
)
def test_stops_in_the_module_and_at_the_op_that_made_it(fault, op, what):
    setup = Setup(fault)
    with debugging(setup) as dbg:
        report = dbg.run()
        assert (report.state, report.reason, report.step) == ("paused", "anomaly", 2)
        assert (report.kind, report.what, report.op) == ("module", what, op)
        assert report.module == setup.module
        assert report.phase == "forward"
        assert "breakage.py" in report.user_line
        assert dbg.tensor is not None
        assert not torch.isfinite(dbg.tensor).all()
        assert set(dbg.batch) == {"input_ids", "attention_mask", "labels"}
        assert "NaN" in repr(dbg.tensor) or "Inf" in repr(dbg.tensor)
        assert repr(dbg.batch).startswith("input_ids: int64[")


def test_the_weights_are_as_before_the_step():
    setup, twin = Setup(), Setup()
    for batch in twin.feed[:2]:
        twin.step(batch)
    with debugging(setup) as dbg:
        dbg.run()
        assert same(setup.weights(), twin.weights())
        dbg.abort()
    assert dbg.state == "aborted"
    assert same(setup.weights(), twin.weights())
    assert all(
        p.grad is None or p.grad.isfinite().all() for p in setup.model.parameters()
    )


def test_stops_where_the_step_ends_when_the_optimizer_is_outside():
    setup = Setup()

    def micro(batch):
        loss = setup.loss(batch)
        loss.backward()
        return loss

    with debugging(setup, micro) as dbg:
        report = dbg.run()
        assert report.module == setup.module
        # Two healthy micro-batches went before it, and no optimizer step.
        assert (report.step, report.micro_batch) == (0, 2)


def test_an_overflow_in_half_precision_is_explained():
    setup = Setup(lambda x: x + 60000, place="self_attn.o_proj")
    weight = setup.model.get_submodule(setup.module + ".inner").weight
    assert weight.dtype == torch.float32

    def step(batch):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = setup.loss(batch)
        loss.backward()
        return loss

    def grow(x):
        return x.half() * 0 + 60000

    setup.breaking.fault = lambda x: grow(x) + grow(x)
    with debugging(setup, step) as dbg:
        report = dbg.run()
        assert (report.what, report.op) == ("inf", "aten.add.Tensor")
        assert report.module == setup.module
        assert "65,504" in report.cause


def test_an_overflow_in_down_proj_is_found():
    setup = Setup(log_of_zero, bad=1)
    layer = setup.model.base_model.model.model.layers[1]
    setup.breaking.fault = lambda x: x * 0 + 3e4
    torch.nn.init.ones_(layer.mlp.down_proj.base_layer.weight)

    def step(batch):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = setup.loss(batch)
        loss.backward()
        return loss

    with debugging(setup, step) as dbg:
        report = dbg.run()
        assert report.module is not None
        assert "layers.1.mlp.down_proj" in report.module
        assert "65,504" in report.cause


def test_a_custom_loss_is_outside_modules():
    setup = Setup()

    def step(batch):
        logits = setup.model(input_ids=batch["input_ids"]).logits
        broken = batch is setup.feed[2]
        loss = (logits.mean() * (0 if broken else 1) - (1 if broken else 0)).sqrt()
        loss = loss if broken else logits.square().mean()
        loss.backward()
        return loss

    with debugging(setup, step) as dbg:
        report = dbg.run()
        assert (report.kind, report.module, report.op) == (
            "outside modules",
            None,
            "aten.sqrt.default",
        )
        assert "no module" in repr(report)
        assert "root of -1" in report.cause


def test_labels_that_are_all_ignored_are_named():
    setup = Setup(bad=0)
    setup.feed[1]["labels"].fill_(-100)
    setup.breaking.fault = lambda x: x
    with debugging(setup) as dbg:
        report = dbg.run()
        assert report.step == 1
        assert "-100" in report.cause
        assert report.op == "aten.nll_loss_forward.default"


def test_a_parameter_that_was_broken_before_is_named():
    setup = Setup(lambda x: x)
    name = "base_model.model.model.layers.1.mlp.up_proj.weight"
    with torch.no_grad():
        dict(setup.model.named_parameters())[name][0, 0] = float("nan")
    with debugging(setup) as dbg:
        report = dbg.run()
        assert (report.kind, report.name, report.step) == ("parameter", name, 0)
        assert report.module == name.removesuffix(".weight")
        assert name in report.headline()


def test_a_batch_that_holds_nan_is_named():
    model = torch.nn.Linear(2, 1)
    feed = [{"x": torch.ones(1, 2)}, {"x": torch.tensor([[1.0, float("nan")]])}]

    def step(batch):
        loss = model(batch["x"]).sum()
        loss.backward()
        return loss

    with ftlab.debug(step, feed, model=model) as dbg:
        report = dbg.run()
        assert (report.kind, report.name) == ("batch", "'x'")


@pytest.mark.parametrize("checkpointing", [None, False, True])
@pytest.mark.parametrize("fault", [root_at_zero, NanBackward.apply])
def test_what_is_born_in_backward_names_the_forward_op(fault, checkpointing):
    base = tiny_llama()
    if checkpointing is not None:
        base.gradient_checkpointing_enable({"use_reentrant": checkpointing})
        base.enable_input_require_grads()
    setup = Setup(fault, base=base)
    with debugging(setup) as dbg:
        report = dbg.run()
        assert (report.kind, report.phase, report.step) == ("backward", "backward", 2)
        assert report.module == setup.module
        assert report.parameters
        assert report.loss is not None
        assert report.loss < 100
        assert report.site.forward is not None
        assert "breakage.py" in report.site.forward.user_line
        if fault is root_at_zero:
            assert report.site.forward.op == "aten.sqrt.default"
            assert "sqrt" in report.cause


# -- where it does not stop


def test_a_harmless_infinity_in_a_broken_step_is_not_blamed():
    setup = Setup(harmless_infinity)

    def step(batch):
        loss = setup.loss(batch)
        if batch is setup.feed[2]:
            loss = (loss * 0).log()
        loss.backward()
        return loss

    with debugging(setup, step) as dbg:
        report = dbg.run()
        assert report.kind == "outside modules"


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_is_quiet_on_healthy_runs_with_padding(attention):
    base = tiny_llama(attn_implementation=attention)
    setup = Setup(harmless_infinity, base=base)
    for batch in setup.feed:
        batch["attention_mask"][:2, :5] = 0
        batch["labels"][:2, :5] = -100
    with debugging(setup) as dbg:
        report = dbg.run()
    assert (report.state, report.step) == ("finished", 4)
    assert setup.calls == 4


def scaled(setup: Setup, scale: float) -> Any:
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)

    def step(batch):
        setup.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = setup.loss(batch)
        scaler.scale(loss).backward()
        scaler.step(setup.optimizer)
        scaler.update()
        return loss.detach()

    return step


def test_an_overflow_that_the_scaler_handles_is_no_anomaly():
    setup = Setup(root_at_zero)
    with debugging(setup, scaled(setup, 2.0**127)) as dbg:
        report = dbg.run()
    # Skipped steps are attempted steps.
    assert (report.state, report.step) == ("finished", 4)


def test_a_collapsed_scale_is_an_anomaly():
    setup = Setup(root_at_zero)
    with debugging(setup, scaled(setup, 0.5)) as dbg:
        report = dbg.run()
        assert (report.kind, report.step) == ("backward", 2)
        assert report.module == setup.module


def test_a_broken_loss_is_an_anomaly_under_a_scaler_too():
    setup = Setup(log_of_zero)
    with debugging(setup, scaled(setup, 2.0**10)) as dbg:
        assert dbg.run().module == setup.module


# -- trainers


@pytest.mark.parametrize(
    "settings", [{}, {"gradient_accumulation_steps": 2, "max_steps": 3}, {"bf16": True}]
)
def test_a_trainer_stops_in_the_module(settings):
    built = trainer(**settings)
    mlp = built.model.base_model.model.model.layers[1].mlp
    from tests.replay.breakage import Breaking

    mlp.act_fn = breaking = Breaking(mlp.act_fn, log_of_zero)
    built.add_callback(breaks_at(1, breaking))
    with ftlab.debug(built) as dbg:
        report = dbg.run()
        assert (report.state, report.kind, report.step) == ("paused", "module", 1)
        assert report.module == "base_model.model.model.layers.1.mlp.act_fn"
        assert report.micro_batch == 0
        assert threading.current_thread().name == "MainThread"
        dbg.abort()
    assert "training_step" not in vars(built)


def breaks_at(step: int, breaking: Any) -> Any:
    from transformers import TrainerCallback

    class Breaks(TrainerCallback):
        def on_step_begin(self, args, state, control, **options):
            breaking.broken = state.global_step == step

    return Breaks()


def test_a_custom_loss_function_of_a_trainer_is_outside_modules():
    built = trainer()
    built.compute_loss_func = lambda outputs, *_, **__: (
        outputs.logits.mean() * float("nan")
    )
    with ftlab.debug(built) as dbg:
        report = dbg.run()
        assert (report.kind, report.op) == ("outside modules", "aten.mul.Tensor")
        assert "test_debug.py" in report.user_line
        assert report.step == 0


def test_train_called_directly_runs_unpaused_and_warns_once():
    built = trainer(max_steps=2)
    with ftlab.debug(built) as dbg:
        with pytest.warns(FtlabWarning, match="not debugged") as caught:
            built.train()
        assert len([w for w in caught if w.category is FtlabWarning]) == 1
        assert dbg.state == "new"


def test_arguments_and_the_result_of_train_pass_through():
    built = trainer(max_steps=2)
    with ftlab.debug(built) as dbg:
        report = dbg.run(ignore_keys_for_eval=["x"])
        assert report.state == "finished"
        assert dbg.result.global_step == 2
        assert dbg.where.step == 2


# -- commands


def test_steps_and_goes_back_by_op_and_module():
    setup = Setup()
    with debugging(setup) as dbg:
        at = dbg.run().site.index
        assert dbg.step("op").site.index == at + 1
        assert dbg.back("op", 2).site.index == at - 1
        assert dbg.step(to="op").site.index == at
        later = dbg.step(to="module")
        assert later.module != setup.module
        assert dbg.back(to="module").module == setup.module
        assert dbg.back(to="op", count=10_000).site.index == 0
        end = dbg.step(count=100_000)
        assert end.site is None
        assert end.reason == "step"
        assert dbg.back().site.index == end.operations - 1
        dbg.step()
        start = dbg.step()
        assert (start.site.index, start.step) == (0, 3)
        assert dbg.resume().state == "paused"  # the weights are NaN by now


def test_a_command_while_not_paused_says_what_to_call():
    setup = Setup(lambda x: x)
    with debugging(setup) as dbg:
        with pytest.raises(NotPausedError, match=r"is new, not paused; call run\(\)"):
            dbg.resume()
        dbg.run()
        with pytest.raises(NotPausedError, match="finished"):
            dbg.step()
        with pytest.raises(BadValueError, match="'backward lm_head'"):
            dbg.step(to=" ")


def test_a_policy_decides_without_a_person():
    seen = []

    def policy(report):
        seen.append((report.reason, report.op))
        return {1: "step", 2: "back module"}.get(len(seen), "abort")

    setup = Setup()
    with debugging(setup, on_pause=policy) as dbg:
        assert dbg.run().state == "aborted"
    assert [reason for reason, _ in seen] == ["anomaly", "step", "back"]


def test_buttons_do_not_block_and_listeners_hear_every_change():
    setup = Setup()
    states = []
    with debugging(setup) as dbg:
        dbg.subscribe(lambda: states.append(dbg.state))
        dbg.run()
        dbg.send("step")
        assert dbg.wait().reason == "step"
        dbg.send("abort")
        dbg.wait()
    assert states[0] == "running"
    assert states[-1] == "aborted"
    assert states.count("paused") == 2


def test_an_error_of_the_step_is_raised_with_the_workers_frames():
    setup = Setup()

    def boom(batch):
        raise RuntimeError("mine")

    dbg = debugging(setup, boom)
    with pytest.raises(RuntimeError, match="mine") as caught:
        dbg.run()
    assert "boom" in [entry.name for entry in caught.traceback]
    assert dbg.state == "failed"


def test_prints_nothing_live_after_the_end():
    setup = Setup()
    with debugging(setup) as dbg:
        dbg.run()
    assert dbg.state == "aborted"
    assert dbg.tensor is None
    assert dbg.batch is None
    assert dbg.inputs == ()


# -- bad input


def test_refuses_what_it_cannot_debug():
    with pytest.raises(AttachError, match="was given an int"):
        ftlab.debug(3)
    with pytest.raises(AttachError, match="needs batches"):
        ftlab.debug(print, model=torch.nn.Linear(1, 1))
    with pytest.raises(AttachError, match=r"not a torch\.optim\.Optimizer"):
        ftlab.debug(print, [], model=torch.nn.Linear(1, 1), optimizer=object())
    with pytest.raises(BadValueError, match="only the trainer"):
        ftlab.debug(trainer(), model=torch.nn.Linear(1, 1))


def test_refuses_functions_that_execute_nothing_when_called():
    async def waits(batch):
        return batch

    def yields(batch):
        yield batch

    class Waits:
        async def __call__(self, batch):
            return batch

    for step in (waits, yields, Waits()):
        with pytest.raises(AttachError, match="calling it executes nothing"):
            ftlab.debug(step, [], model=torch.nn.Linear(1, 1))


def test_batches_that_the_first_run_used_up_are_named():
    setup = Setup(lambda x: x)
    feed = (batch for batch in setup.feed)
    with ftlab.debug(setup.step, feed, model=setup.model) as dbg:
        assert dbg.run().step == 4
        with pytest.raises(BadValueError, match="generator, which the first run"):
            dbg.run()
    with debugging(setup) as dbg:
        assert (dbg.run().step, dbg.run().step) == (4, 4)


def test_refuses_a_thread_whose_settings_cannot_be_carried_over():
    setup = Setup()
    refused = pytest.raises(NotReplayableError, match="set_default_device")
    with debugging(setup) as dbg, torch.device("meta"), refused:
        dbg.run()


def test_refuses_an_optimizer_inside_backward():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.weight.register_post_accumulate_grad_hook(lambda _: optimizer.step())

    def step(batch):
        model(batch).sum().backward()

    refused = pytest.raises(NotReplayableError, match=r"SGD.step\(\) runs inside")
    with ftlab.debug(step, [torch.ones(1, 2)], model=model) as dbg, refused:
        dbg.run()


def test_a_second_optimizer_step_in_one_call_is_stopped_but_not_located():
    setup = Setup()

    def step(batch):
        setup.optimizer.zero_grad()
        setup.model(**setup.feed[0]).loss.backward()
        setup.optimizer.step()
        return setup.step(batch)

    with debugging(setup, step) as dbg:
        report = dbg.run()
        assert (report.kind, report.replayable) == ("unknown", False)
        assert "AdamW.step() has already changed the weights" in repr(report)
        with pytest.raises(NotReplayableError, match="cannot be rewound"):
            dbg.back()
        assert dbg.state == "paused"


def test_an_optimizer_that_changes_weights_between_losses_is_refused():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.LBFGS(model.parameters())
    with pytest.raises(NotReplayableError, match="LBFGS changes the weights between"):
        ftlab.debug(print, [], model=model, optimizer=optimizer)


def test_debuggers_and_watches_come_off_in_any_order(tmp_path):
    before = torch.autograd.backward
    setup, other = Setup(), Setup()
    with debugging(setup) as first, debugging(other) as second:
        first.run()
        watch = ftlab.watch(setup.model, setup.optimizer, run_dir=tmp_path / "run")
        first.close()
        second.run()
        watch.detach()
        second.abort()
    assert torch.autograd.backward is before


def test_a_second_debugger_is_refused_while_one_is_active():
    setup, other = Setup(), Setup()
    with debugging(setup) as first, debugging(other) as second:
        first.run()
        named = r"of Setup.step\(\): Paused at step 2.* Call close\(\) on it first"
        with pytest.raises(NotPausedError, match=named):
            second.run()
        assert (first.state, second.state) == ("paused", "new")
        assert second.active() is first
        second.active().close()
        assert second.run().state == "paused"
    assert first.active() is None


def test_a_debugger_within_a_debugged_step_is_refused():
    setup, other = Setup(), Setup()

    def step(batch):
        with debugging(other) as inner:
            inner.run()

    named = r"of Setup.step\(\) was started within \S*step\(\), which is debugged"
    dbg = debugging(setup, step)
    with pytest.raises(NotPausedError, match=named):
        dbg.run()
    assert dbg.active() is None


def test_a_refused_start_leaves_the_way_free():
    setup = Setup(lambda x: x)
    with debugging(setup) as dbg:
        with torch.device("meta"), pytest.raises(NotReplayableError):
            dbg.run()
        assert dbg.active() is None
        assert dbg.run().state == "finished"


def test_a_forgotten_debugger_of_the_same_trainer_says_nothing():
    built = trainer(max_steps=2)
    with ftlab.debug(built), ftlab.debug(built) as dbg, warnings.catch_warnings():
        warnings.simplefilter("error", FtlabWarning)
        assert dbg.run().state == "finished"


# -- interrupts


def press_interrupt(dbg: Any) -> None:
    """Do what Ctrl-C does to the main thread, and wait until it has arrived."""
    before = dbg._worker._interrupts
    _thread.interrupt_main()
    deadline = time.monotonic() + 30
    while dbg._worker._interrupts == before and time.monotonic() < deadline:
        time.sleep(0.01)


def test_an_interrupt_pauses_at_the_end_of_the_micro_batch():
    setup = Setup(lambda x: x)

    def step(batch):
        if batch is setup.feed[1]:
            press_interrupt(dbg)
        return setup.step(batch)

    with debugging(setup, step) as dbg:
        report = dbg.run()
        assert (report.state, report.reason, report.step) == ("paused", "interrupt", 1)
        assert report.site is None
        assert dbg.resume().state == "finished"


def test_a_second_interrupt_aborts():
    setup = Setup(lambda x: x)

    def step(batch):
        if batch is setup.feed[1]:
            press_interrupt(dbg)
            press_interrupt(dbg)
        return setup.step(batch)

    with debugging(setup, step) as dbg:
        assert dbg.run().state == "aborted"


def test_an_interrupt_during_a_replay_pauses_at_the_next_op():
    setup = Setup()
    attempts = []

    def fault(x):
        attempts.append(x)
        if len(attempts) == 3:  # after the first run and the survey
            press_interrupt(dbg)
        return log_of_zero(x)

    setup.breaking.fault = fault
    with debugging(setup) as dbg:
        report = dbg.run()
        assert report.reason == "interrupt"
        assert report.site is not None
        assert report.op == "aten.mul.Tensor"
        assert dbg.step().op == "aten.log.default"


def test_a_third_interrupt_leaves_a_busy_run():
    setup = Setup(lambda x: x)
    release = threading.Event()

    def step(batch):
        for _ in range(3):
            press_interrupt(dbg)
        release.wait(30)

    dbg = debugging(setup, step)
    with pytest.raises(KeyboardInterrupt):
        dbg.run()
    assert dbg.state == "running"
    release.set()
    dbg.close()
    assert dbg.state == "aborted"


# -- together with a watch


def test_a_watch_hears_of_every_step_once(tmp_path):
    setup = Setup()
    watch = ftlab.watch(setup.model, setup.optimizer, run_dir=tmp_path / "run")
    with watch, debugging(setup) as dbg:
        dbg.run()
        setup.model(**dbg.batch)
        dbg.back(count=5)
        dbg.resume()
        assert dbg.resume().state == "finished"
    assert len(watch.run.steps) == 4
    assert watch.run.steps["micro_batches"].tolist() == [1, 1, 1, 1]
    healthy, replayed = ([e.op for e in watch.run.ledger_of(step)] for step in (1, 2))
    assert replayed == healthy


# -- special models


def test_finds_a_fault_over_a_4_bit_base(tmp_path):
    setup = Setup(base=tiny_4bit(tmp_path))
    with debugging(setup) as dbg:
        report = dbg.run()
        assert (report.module, report.op) == (setup.module, "aten.log.default")
        assert report.step == 2


@pytest.mark.slow
def test_finds_a_fault_within_compiled_code():
    setup = Setup()
    torch._dynamo.reset()
    quick = torch.compile(setup.model, backend="aot_eager")

    def step(batch):
        setup.optimizer.zero_grad()
        setup.breaking.broken = batch is setup.feed[2]
        loss = quick(**batch).loss
        loss.backward()
        setup.optimizer.step()
        return loss.detach()

    with debugging(setup, step) as dbg:
        report = dbg.run()
        assert (report.module, report.op) == (setup.module, "aten.log.default")
    torch._dynamo.reset()


def test_gradients_zeroed_in_place_are_copied_from_the_second_step_on():
    setup = Setup()

    def step(batch):
        setup.optimizer.zero_grad(set_to_none=False)
        loss = setup.loss(batch)
        loss.backward()
        setup.optimizer.step()
        return loss.detach()

    with debugging(setup, step) as dbg:
        assert dbg.run().module == setup.module


def test_a_step_that_fails_only_when_repeated_says_so():
    setup, seen = Setup(), []

    def step(batch):
        if id(batch) in seen:
            raise KeyError("seen before")
        seen.append(id(batch))
        return setup.step(batch)

    with debugging(setup, step) as dbg, pytest.raises(KeyError) as caught:
        dbg.run()
    assert "executing this step again" in caught.value.__notes__[0]


def test_other_hooks_hear_only_of_optimizer_steps_that_come_through():
    setup, heard = Setup(), []
    hook = register_optimizer_step_pre_hook(lambda *_: heard.append(1))
    try:
        with debugging(setup) as dbg:
            dbg.run()
            assert len(heard) == 2
            dbg.resume()
            assert dbg.resume().state == "finished"
    finally:
        hook.remove()
    assert len(heard) == 4


@pytest.mark.skipif(
    int(transformers.__version__.partition(".")[0]) < 5,
    reason="the case quotes transformers 5",
)
def test_the_samples_and_tokens_of_bad_values_are_named_with_their_text():
    live = load("broken-token-under-sft").build(0)
    with ftlab.debug(live.trainer) as dbg:
        report = dbg.run()
        ids = dbg.batch["input_ids"]
    (span,) = report.spans
    text = live.trainer.processing_class.decode(ids[span.sample, span.start].tolist())
    assert (span.stop - span.start, span.text) == (1, text)
    assert text.strip()
    row = f"tokens    sample {span.sample}, token {span.start} {text!r}"
    assert row in repr(report)


def test_steps_lead_to_modules_by_pattern_and_to_their_backward():
    setup = Setup()
    with debugging(setup) as dbg:
        dbg.run()
        back = dbg.back(to="layers.0.self_attn.q_proj")
        assert back.module.endswith("layers.0.self_attn.q_proj")
        there = dbg.step(to="backward layers.1.mlp.down_proj")
        assert there.phase == "backward"
        assert there.module.endswith("layers.1.mlp.down_proj")
        assert dbg.back(to="micro-batch").site.index == 0
        with pytest.raises(UnknownNameError, match=r"layers\.9"):
            dbg.step(to="layers.9.mlp")
        assert dbg.state == "paused"


def test_steps_lead_over_micro_batches_and_optimizer_steps():
    setup, stops = Setup(), []
    feed = [dict(setup.feed[0]) for _ in range(6)]
    commands = iter(["step micro-batch", "step optimizer step", "resume"])

    def step(batch):
        if not stops:
            dbg.interrupt()
        setup.model(**batch).loss.backward()
        if any(batch is each for each in feed[2::3]):
            setup.optimizer.step()
            setup.optimizer.zero_grad()

    def decide(report):
        stops.append((report.step, report.micro_batch, report.site is not None))
        return next(commands)

    setup.feed = feed
    with debugging(setup, step, on_pause=decide) as dbg:
        dbg.run()
    assert stops == [(0, 0, False), (0, 1, True), (1, 0, True)]


def test_what_was_listed_for_a_run_is_let_go_with_it():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch):
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    with ftlab.debug(
        step, [torch.ones(1, 2)] * 3, model=model, optimizer=optimizer
    ) as debugger:
        debugger.run()
    module, weight = weakref.ref(model[0]), weakref.ref(model[1].weight)
    model[0], model[1] = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    optimizer.param_groups[0]["params"].clear()
    optimizer.state.clear()
    gc.collect()
    assert (module(), weight()) == (None, None)
    assert debugger.runs == 1


class Counting(torch.optim.SGD):
    """Keeps a count in its state, under a word and not for a parameter."""

    def step(self, closure=None):
        self.state["count"] = (self.state["count"] or 0) + 1
        return super().step(closure)


def test_an_optimizer_may_keep_what_is_no_mapping(tmp_path):
    model = torch.nn.Linear(2, 1)
    optimizer = Counting(model.parameters(), lr=0.1)

    def step(batch):
        loss = model(batch).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    batches = [torch.ones(1, 2)] * 3
    with ftlab.debug(step, batches, model=model, optimizer=optimizer) as debugger:
        assert debugger.run().state == "finished"
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        for batch in batches:
            step(batch)
        assert watch.memory.table() is not None
    ftlab.safe_save(model, tmp_path / "saved", optimizer=optimizer)
    assert optimizer.state["count"] == 6
    assert not watch.findings
