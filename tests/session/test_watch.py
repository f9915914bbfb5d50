"""Attaching, detaching and what bad input means."""

import gc
import signal
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import trainable
from ftlab.probes.probe_set import ProbeSet
from ftlab.probes.recorder import Recorder
from ftlab.probes.stepping.loop import Loop
from ftlab.probes.taps.forward import innermost
from ftlab.records.errors import (
    AttachError,
    BadValueError,
    FtlabWarning,
    RunFolderError,
)
from ftlab.records.handle import HandleStack
from ftlab.session.background import Background
from ftlab.session.watch import Watch
from tests.models import batches, tiny_llama, tiny_lora, update
from tests.session.scenarios import trainer


def adamw(model: torch.nn.Module) -> torch.optim.AdamW:
    return torch.optim.AdamW(trainable(model), lr=1e-2)


def watched(folder: Path) -> tuple[Any, torch.optim.AdamW, Watch]:
    model = tiny_lora()
    optimizer = adamw(model)
    return model, optimizer, ftlab.watch(model, optimizer, run_dir=folder / "run")


def steps(model: Any, optimizer: Any, count: int = 3) -> list[float]:
    losses = []
    for batch in batches(count):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_loop_is_recorded_from_attach_to_exit(tmp_path: Path) -> None:
    model = tiny_lora()
    optimizer = adamw(model)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        losses = steps(model, optimizer)
        assert watch.state == "watching"
    assert watch.state == "ended"
    np.testing.assert_allclose(watch.run.steps["loss"], losses, rtol=1e-6)
    assert watch.logged_step == 2
    assert watch.run.meta["ended"] == "finished"


def test_the_optimizer_is_found_at_its_first_step(tmp_path: Path) -> None:
    model = tiny_lora()
    with ftlab.watch(model, run_dir=tmp_path / "run") as watch:
        steps(model, adamw(model))
    assert len(watch.run.steps) == 3
    assert watch.run.facts.optimizers[0]["class"] == "AdamW"


def test_an_exception_of_the_user_passes_and_everything_comes_off(
    tmp_path: Path,
) -> None:
    model, optimizer, watch = watched(tmp_path)
    steps(model, optimizer, 1)
    with pytest.raises(ZeroDivisionError), watch:
        1 / 0  # noqa: B018
    assert watch.run.meta["ended"] == "failed: ZeroDivisionError: division by zero"


def test_what_a_forward_raises_is_what_its_user_sees(tmp_path: Path) -> None:
    model = tiny_lora()
    root = innermost(model)
    late = []  # as many libraries do: after the hooks that are there already
    own = root.register_forward_pre_hook(
        lambda *_: late.append(root.register_forward_hook(lambda *_: None))
    )
    watch = ftlab.watch(model, adamw(model), run_dir=tmp_path / "run", activations=True)
    watch.probe("*.q_proj.post", lambda output: output.mean(), name="mean")
    batch = next(batches(1))
    with watch, pytest.raises(IndexError, match="out of range"):
        model(input_ids=batch["input_ids"] + 10**6, labels=batch["labels"])
    for hook in (own, *late):
        hook.remove()


def test_an_interrupt_ends_the_run_as_interrupted(tmp_path: Path) -> None:
    model = tiny_lora()
    watch = ftlab.watch(model, adamw(model), run_dir=tmp_path / "run")
    with pytest.raises(KeyboardInterrupt), watch:
        raise KeyboardInterrupt
    assert watch.run.meta["ended"] == "interrupted"


def test_detach_may_be_called_twice(tmp_path: Path) -> None:
    model = tiny_lora()
    watch = ftlab.watch(model, adamw(model), run_dir=tmp_path / "run")
    watch.detach()
    watch.detach()
    assert watch.state == "ended"


def test_the_death_of_the_model_ends_the_run(tmp_path: Path) -> None:
    model, optimizer, watch = watched(tmp_path)
    steps(model, optimizer)
    del model, optimizer
    gc.collect()
    assert watch.state == "ended"
    assert watch.run.meta["ended"] == "the model was deleted"


@pytest.mark.filterwarnings("error::ftlab.records.errors.FtlabWarning")
def test_a_model_that_its_merged_self_replaces_is_known_to_the_end(
    tmp_path: Path,
) -> None:
    model, optimizer, watch = watched(tmp_path)
    steps(model, optimizer)
    model = model.merge_and_unload()
    del optimizer
    gc.collect()
    assert watch.run.meta["ended"] == "the model was deleted"
    assert len(watch.run.steps) == 3
    assert watch.run.ledger[-1].op == "unload"
    assert watch.run.matrix("arrived_l2", table="merges").known.any()


@pytest.mark.filterwarnings("error::ftlab.records.errors.FtlabWarning")
def test_a_model_that_is_merged_and_deleted_keeps_its_last_step(
    tmp_path: Path,
) -> None:
    model, optimizer, watch = watched(tmp_path)
    steps(model, optimizer)
    model.merge_adapter()
    del model, optimizer
    gc.collect()
    assert watch.run.meta["ended"] == "the model was deleted"
    assert len(watch.run.steps) == 3


def interrupt_within(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """Let Ctrl-C be pressed where ``owner.name`` is about to do its work."""
    original = getattr(owner, name)

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(owner, name, original)
        signal.raise_signal(signal.SIGINT)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, interrupted)


LETTING_GO = ((HandleStack, "remove"), (Loop, "end"), (Background, "stop"))
TAKING_HOLD = ((Recorder, "_attach"), (ProbeSet, "attach"), (Background, "start"))


@pytest.mark.parametrize("where", LETTING_GO)
def test_an_interrupted_detach_lets_go_of_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: tuple[Any, str]
) -> None:
    model, optimizer, watch = watched(tmp_path)
    steps(model, optimizer)
    interrupt_within(monkeypatch, *where)
    with pytest.raises(KeyboardInterrupt):
        watch.detach()
    assert watch.state == "ended"
    assert len(ftlab.open_run(tmp_path / "run").run.steps) == 3


@pytest.mark.parametrize("where", TAKING_HOLD)
def test_an_interrupted_watch_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: tuple[Any, str]
) -> None:
    model = tiny_lora()
    optimizer = adamw(model)
    interrupt_within(monkeypatch, *where)
    with pytest.raises(KeyboardInterrupt):
        ftlab.watch(model, optimizer, run_dir=tmp_path / "run")
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "again") as watch:
        steps(model, optimizer)
    assert len(watch.run.steps) == 3


@pytest.mark.parametrize("where", LETTING_GO + TAKING_HOLD)
def test_an_interrupted_trainer_can_train_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: tuple[Any, str]
) -> None:
    built = trainer(max_steps=2)
    with ftlab.watch(built, run_dir=tmp_path / "run") as watch:
        interrupt_within(monkeypatch, *where)
        with pytest.raises(KeyboardInterrupt):
            built.train()
        assert watch.state != "watching"
        built.train()
        assert len(watch.run.steps) == 2


def test_a_detach_that_fails_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_lora()
    watch = ftlab.watch(model, run_dir=tmp_path / "run")

    def failing(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Background, "stop", failing)
        with pytest.raises(MemoryError):
            watch.detach()
    watch.detach()
    assert watch.run.meta["ended"] == "detached"


def test_a_watch_that_has_ended_is_not_kept_by_its_model(tmp_path: Path) -> None:
    model, optimizer, watch = watched(tmp_path)
    steps(model, optimizer)
    watch.detach()
    gone = weakref.ref(watch), weakref.ref(watch.run)
    del watch
    gc.collect()
    assert [each() for each in gone] == [None, None]


def test_a_watch_that_has_ended_is_not_kept_by_its_trainer(tmp_path: Path) -> None:
    built = trainer(max_steps=2)
    with ftlab.watch(built, run_dir=tmp_path / "run") as watch:
        built.train()
    gone = weakref.ref(watch), weakref.ref(watch.run)
    del watch
    gc.collect()
    assert [each() for each in gone] == [None, None]


def test_a_debugger_that_was_closed_is_not_kept_by_its_model() -> None:
    model = tiny_lora()
    optimizer = adamw(model)

    def step(batch: Any) -> Any:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return loss

    debugger = ftlab.debug(step, list(batches(2)), model=model, optimizer=optimizer)
    debugger.run()
    debugger.close()
    gone = weakref.ref(debugger)
    del debugger
    gc.collect()
    assert gone() is None


def test_each_train_of_a_trainer_is_a_run_of_its_own(tmp_path: Path) -> None:
    built = trainer(max_steps=2)
    watch = ftlab.watch(built, run_dir=tmp_path / "run")
    assert watch.state == "waiting"
    built.train()
    first = watch.run_dir
    assert watch.state == "ended"
    built.train()
    assert (first, watch.run_dir) == (tmp_path / "run", tmp_path / "run-2")
    assert len(ftlab.open_run(first).run.steps) == 2
    watch.detach()
    assert "train" not in vars(built)


def test_a_trainer_hands_over_evaluations_and_its_own_steps(tmp_path: Path) -> None:
    built = trainer(max_steps=4, eval_strategy="steps", eval_steps=2)
    with ftlab.watch(built, run_dir=tmp_path / "run") as watch:
        built.train()
    assert [row.step for row in watch.run.evaluations] == [1, 3]
    assert all("eval_loss" in row.metrics for row in watch.run.evaluations)
    assert watch.run.steps["trainer_step"].tolist() == [1, 2, 3, 4]


def test_a_resumed_trainer_goes_on_counting(tmp_path: Path) -> None:
    settings = {"save_strategy": "steps", "save_steps": 2}
    first = trainer(max_steps=2, output_dir=str(tmp_path / "out"), **settings)
    first.train()
    second = trainer(max_steps=4, output_dir=str(tmp_path / "out"), **settings)
    with ftlab.watch(second, run_dir=tmp_path / "run") as watch:
        second.train(resume_from_checkpoint=True)
    assert watch.run.steps.step.tolist() == [2, 3]


def test_a_model_of_which_nothing_is_trainable_is_watched(tmp_path: Path) -> None:
    model = tiny_llama().requires_grad_(requires_grad=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        for batch in batches(3):
            model(**batch)
            optimizer.step()
    assert watch.run.facts.model["trainable"] == 0
    assert len(watch.run.steps) == 3


def test_a_model_without_parameters_is_refused() -> None:
    with pytest.raises(AttachError, match="ReLU has no parameters"):
        ftlab.watch(torch.nn.ReLU())


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(AttachError, match="was given an int"):
        ftlab.watch(3)
    with pytest.raises(BadValueError, match=r"optimizer=.* has no step\(\)"):
        ftlab.watch(tiny_llama(), "adamw")


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_script_is_refused() -> None:
    script = torch.jit.script(torch.nn.Linear(4, 1))
    with pytest.raises(AttachError, match=r"TorchScript module \(Linear\).*Watch and"):
        ftlab.watch(script)


def test_a_model_without_shapes_is_refused() -> None:
    model = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.Linear(4, 1))
    with pytest.raises(AttachError, match=r"0\.weight, 0\.bias.*Call model\(batch\)"):
        ftlab.watch(model)


def test_watching_twice_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    model = tiny_lora()
    optimizer = adamw(model)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        with pytest.raises(AttachError, match="already watched"):
            ftlab.watch(model, optimizer, run_dir=tmp_path / "other")
        steps(model, optimizer)
    assert len(watch.run.steps) == 3
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "again"):
        pass


def test_an_optimizer_of_another_model_is_a_finding(tmp_path: Path) -> None:
    model, other = tiny_lora(), tiny_lora(seed=2)
    optimizer = adamw(other)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        steps(model, optimizer)
    assert "OPT001" in {finding.code for finding in watch.findings}


def test_an_existing_run_folder_is_refused_before_anything_is_attached(
    tmp_path: Path,
) -> None:
    model = tiny_lora()
    with pytest.raises(RunFolderError, match="exists"):
        ftlab.watch(model, adamw(model), run_dir=tmp_path)


def test_a_folder_that_cannot_be_written_is_refused() -> None:
    model = tiny_lora()
    with pytest.raises(RunFolderError, match="/proc/run"):  # root cannot write there
        ftlab.watch(model, adamw(model), run_dir="/proc/run")


def test_a_file_in_the_way_of_the_run_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    model = tiny_lora()
    with pytest.raises(RunFolderError):
        ftlab.watch(model, adamw(model), run_dir=tmp_path / "file" / "run")


def test_attaching_in_the_middle_of_an_accumulation_is_said(tmp_path: Path) -> None:
    model = tiny_lora()
    optimizer = adamw(model)
    first, second, *_ = batches(4)
    model(**first).loss.backward()
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        update(model(**second).loss, optimizer)
        steps(model, optimizer, 1)
    assert watch.run.steps["micro_batches"].tolist() == [1, 1]
    assert watch.run.steps["partial"][0] == 1
    assert watch.run.steps.known("partial").tolist() == [True, False]


def test_a_failing_probe_is_one_warning_and_training_goes_on(tmp_path: Path) -> None:
    from ftlab.probes.probe import Moment, Probe

    class Broken(Probe):
        name = "broken"

        def on_gradients(self, moment: Moment) -> tuple[()]:
            raise RuntimeError("no luck")

    model = tiny_lora()
    optimizer = adamw(model)
    watch = ftlab.watch(model, optimizer, run_dir=tmp_path / "run", probes=[Broken()])
    with pytest.warns(FtlabWarning, match="broken") as caught, watch:
        steps(model, optimizer)
    assert len(caught) == 1
    assert len(watch.run.steps) == 3


def test_a_zero_interval_is_refused() -> None:
    with pytest.raises(BadValueError, match="at least 1"):
        ftlab.watch(tiny_llama(), interval=0)


def test_views_follow_the_latest_run_of_a_trainer(tmp_path: Path) -> None:
    built = trainer(max_steps=2)
    with ftlab.watch(built, run_dir=tmp_path / "run") as watch:
        view = watch.loss
        assert len(view.table()) == 0
        built.train()
        assert len(view.table()) == 2
        built.args.max_steps = 3
        built.train()
        assert len(view.table()) == 3
    assert watch.loss is view


def test_an_optimizer_without_a_rate_is_watched(tmp_path: Path) -> None:
    from transformers.optimization import Adafactor

    model = tiny_lora()
    optimizer = Adafactor(trainable(model))  # relative steps: its lr is None
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        steps(model, optimizer)
    assert np.isnan(watch.run.steps["lr"]).all()
    assert repr(watch) == "Watch(ended, 3 steps, 0 findings)"


def test_a_watch_that_ftlab_itself_has_broken_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ftlab.probes.stepping.loop import Loop

    def fail(*_: Any) -> None:
        raise ArithmeticError("no luck")

    monkeypatch.setattr(Loop, "after_step", fail)
    model, optimizer, watch = watched(tmp_path)
    with pytest.warns(FtlabWarning, match="stopped watching at step 0"), watch:
        steps(model, optimizer)
    assert "stopped by an error of ftlab: ArithmeticError" in repr(watch)


def test_a_view_taken_after_a_loop_shows_its_last_step(tmp_path: Path) -> None:
    model, optimizer, watch = watched(tmp_path)
    losses = steps(model, optimizer, 2)
    assert len(watch.loss.table()) == 2
    np.testing.assert_allclose(watch.run.steps["loss"], losses, rtol=1e-6)
    assert "2 steps" in repr(watch)
    steps(model, optimizer, 1)
    assert watch.dashboard.loss.summary.first_steps[-1] == 2
    watch.detach()
    assert list(watch.run.steps.step) == [0, 1, 2]


def test_the_last_step_makes_the_finding(tmp_path: Path) -> None:
    model = tiny_lora()
    optimizer = adamw(model)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        steps(model, optimizer, 1)
        (model(**next(batches(1))).loss * float("nan")).backward()
        optimizer.step()
        assert "NUM001" in [each.code for each in watch.findings]
