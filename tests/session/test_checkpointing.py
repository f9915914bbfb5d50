"""What a watch saves by itself changes nothing, is good, and is gone back to."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, CheckpointError, FtlabWarning
from tests.disks import disk_of
from tests.models import batches
from tests.session.checkpoints import EXACT, MODELS, loop, state_of, trainer
from tests.session.test_safe_save import names_in


def watched(made: Any, folder: Path, **settings: Any) -> Any:
    asked = ftlab.Checkpoint(folder / "safe", **settings)
    return ftlab.watch(
        made.model,
        made.optimizer,
        scheduler=made.scheduler,
        run_dir=folder / "run",
        checkpoint=asked,
    )


def told(watch: Any) -> list[tuple[int, str]]:
    found = [each for each in watch.run.events if each.kind == "checkpoint"]
    return [(each.step, each.message) for each in found]


@pytest.mark.parametrize("kind", MODELS)
def test_a_loop_that_is_saved_is_bit_equal(kind: str, tmp_path: Path) -> None:
    plain = loop(kind, tmp_path / "plain")
    losses = plain.train(0, 7)
    made = loop(kind, tmp_path)
    with watched(made, tmp_path, every=2) as watch:
        assert made.train(0, 7) == losses
    assert made.state() == plain.state()
    assert names_in(tmp_path / "safe") == ["checkpoint-4", "checkpoint-6"]
    assert told(watch) == [
        (step - 1, f"checkpoint checkpoint-{step} saved") for step in (2, 4, 6)
    ]
    # The last but one was saved as it was between two steps, and goes on exactly.
    other = loop(kind, tmp_path / "other")
    found = ftlab.safe_load(tmp_path / "safe" / "checkpoint-4")
    found.restore(other.model, **other.parts)
    assert other.train(4, 7) == losses[4:]
    assert other.state() == plain.state()


@pytest.mark.slow
def test_a_compiled_loop_is_saved_alike(tmp_path: Path) -> None:
    losses = []
    for checked in (False, True):
        torch._dynamo.reset()
        made = loop("lora", tmp_path)
        made.model = torch.compile(made.model, backend="aot_eager")
        asked = ftlab.Checkpoint(tmp_path / "safe", every=2) if checked else None
        with ftlab.watch(
            made.model,
            made.optimizer,
            run_dir=tmp_path / f"run-{checked}",
            checkpoint=asked,
        ):
            losses.append(made.train(0, 5))
    assert losses[0] == losses[1]
    assert names_in(tmp_path / "safe") == ["checkpoint-2", "checkpoint-4"]


def test_a_run_that_is_saved_has_no_findings(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    with watched(made, tmp_path, every=2) as watch:
        made.train(0, 9)
    assert not list(watch.findings)


def test_the_last_step_is_saved_when_it_is_due(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    with watched(made, tmp_path, every=3):
        made.train(0, 6)
    found = ftlab.safe_load(tmp_path / "safe")
    assert found.step == 6
    assert found.differences(made.model, **made.parts) == ()


def test_a_trainer_that_is_saved_is_bit_equal_and_goes_on(tmp_path: Path) -> None:
    plain = trainer(tmp_path)
    plain.train()
    expected = state_of(plain)
    made = trainer(tmp_path)
    asked = ftlab.Checkpoint(tmp_path / "safe", every=2, keep=9)
    with ftlab.watch(made, run_dir=tmp_path / "run", checkpoint=asked) as watch:
        made.train()
    assert state_of(made) == expected
    assert not list(watch.findings)
    steps = [2, 4, 6, 8]
    assert [step + 1 for step, _ in told(watch)] == steps
    for step in steps[:-1] if EXACT else (2, 6):
        other = trainer(tmp_path)
        torch.manual_seed(99)
        ftlab.safe_load(tmp_path / "safe" / f"checkpoint-{step}").resume(other)
        assert state_of(other) == expected


def test_a_bad_step_is_rolled_back_by_itself(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    data = list(batches(10))
    said = r"loss of step 5 is nan: weights and optimizer are again those of .*-4"
    with watched(made, tmp_path, every=2, on_anomaly="roll back") as watch:
        for step, batch in enumerate(data[:6]):
            made.step(batch, float("nan") if step == 5 else 1.0)
        rate = made.optimizer.param_groups[0]["lr"]
        with pytest.warns(FtlabWarning, match=said):
            loss = made.step(data[6])
        assert loss < 6.0
        assert made.optimizer.param_groups[0]["lr"] in (rate, rate * 0.7)
        made.step(data[7])
    messages = [message for _, message in told(watch)]
    assert "rolled back to checkpoint-4: the loss of step 5 is nan" in messages
    assert messages[-1] == "checkpoint checkpoint-8 saved"
    assert {each.code for each in watch.findings} == {"NUM001"}
    weights = (p for p in made.model.parameters() if p.requires_grad)
    assert all(bool(p.isfinite().all()) for p in weights)


def test_after_a_roll_back_the_steps_are_those_of_the_checkpoint(
    tmp_path: Path,
) -> None:
    """The batch of the bad step is left out, and nothing else differs."""
    data = list(batches(8))
    made, other = loop("half", tmp_path), loop("half", tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FtlabWarning)
        with watched(made, tmp_path, every=4, on_anomaly="roll back"):
            for step in range(7):
                made.step(data[step], float("inf") if step == 4 else 1.0)
    for step in (0, 1, 2, 3, 5, 6):
        if step == 5:
            other.scheduler.step()
        other.step(data[step])
    assert made.state()[:2] == other.state()[:2]


def test_a_trainer_is_rolled_back(tmp_path: Path) -> None:
    from transformers import Trainer

    class Sick(Trainer):
        def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
            loss = super().compute_loss(*args, **kwargs)
            return loss * float("nan") if self.state.global_step == 5 else loss

    made = trainer(tmp_path, Sick)
    asked = ftlab.Checkpoint(tmp_path / "safe", every=2, on_anomaly="roll back")
    with (
        ftlab.watch(made, run_dir=tmp_path / "run", checkpoint=asked) as watch,
        pytest.warns(FtlabWarning, match="again those of checkpoint-4"),
    ):
        made.train()
    assert [step + 1 for step, _ in told(watch)] == [2, 4, 6, 7, 8]  # 6: rolled back
    weights = (p for p in made.model.parameters() if p.requires_grad)
    assert all(bool(p.isfinite().all()) for p in weights)
    assert len(watch.run.steps) == 8


def test_a_run_that_stays_bad_is_left_alone(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FtlabWarning)
        with watched(made, tmp_path, every=2, on_anomaly="roll back"):
            for step, batch in enumerate(batches(12)):
                made.step(batch, float("nan") if step > 2 else 1.0)
    ours = [str(e.message) for e in caught if issubclass(e.category, FtlabWarning)]
    assert sum("again those of checkpoint-2" in each for each in ours) == 3
    assert sum("the run is left as it is" in each for each in ours) == 1
    assert len(ours) == 4
    assert names_in(tmp_path / "safe") == ["checkpoint-2"]


def test_without_a_response_a_bad_step_is_only_not_saved(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    with watched(made, tmp_path, every=2):
        for step, batch in enumerate(batches(7)):
            made.step(batch, float("nan") if step == 3 else 1.0)
    assert names_in(tmp_path / "safe") == ["checkpoint-2"]


def test_rolls_back_by_hand(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    with watched(made, tmp_path, every=4) as watch:
        made.train(0, 5)
        losses = made.train(5, 6)
        found = watch.roll_back()
        assert (found.step, found.path.name) == (4, "checkpoint-4")
        assert found.differences(made.model, **made.parts) == ()
        assert made.train(4, 6)[1:] == losses
    with pytest.raises(CheckpointError, match="This watch saves no checkpoints now"):
        watch.roll_back()


# There is room for one checkpoint and a part of the next.
small_disk = disk_of("192k")


def test_a_full_disk_is_one_warning(
    small_disk: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("run")
    made = loop("lora", folder)
    asked = ftlab.Checkpoint(small_disk / "safe", every=2, keep=5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FtlabWarning)
        with ftlab.watch(
            made.model, made.optimizer, run_dir=folder / "run", checkpoint=asked
        ) as watch:
            made.train(0, 12)
    ours = [str(e.message) for e in caught if issubclass(e.category, FtlabWarning)]
    assert len(ours) == 1
    assert "No space left on device" in ours[0]
    assert ours[0].endswith("Training goes on.")
    assert len(watch.run.steps) == 12
    assert ftlab.safe_load(small_disk / "safe").step == 2


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"every": 0}, "every=0: it is a number"),
        ({"keep": "2"}, "keep='2': it is a number"),
        ({"on_anomaly": "stop"}, "on_anomaly='stop': allowed are None and 'roll back'"),
        ({"second": 3}, "second=3 is not a path"),
    ],
)
def test_refuses_settings_that_mean_nothing(
    settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadValueError, match=says):
        ftlab.Checkpoint("safe", **settings)
