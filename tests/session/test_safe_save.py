"""What is saved is whole, is what the live objects hold, and goes on exactly."""

import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import (
    AttachError,
    BadValueError,
    CheckpointError,
    FtlabWarning,
)
from tests.disks import disk_of
from tests.models import batches, tiny_lora
from tests.session.checkpoints import EXACT, MODELS, Loop, loop, state_of, trainer

KILLS, FEW = 50, 5


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA's checkpoint after three steps; tests copy it before they damage it."""
    folder = tmp_path_factory.mktemp("saved")
    made = loop("lora", folder)
    made.train(0, 3)
    found = ftlab.safe_save(made.model, folder, **made.parts, extra={"batch": 3})
    assert found is not None
    return found.path


@pytest.mark.parametrize("kind", MODELS)
def test_goes_on_exactly(kind: str, tmp_path: Path) -> None:
    made = loop(kind, tmp_path)
    made.train(0, 3)
    found = ftlab.safe_save(made.model, tmp_path / "safe", **made.parts)
    assert found is not None
    assert (found.step, found.why, found.path.name) == (3, "", "checkpoint-3")
    losses = made.train(3, 6)
    after = made.state()
    other = loop(kind, tmp_path / "other")
    torch.manual_seed(7)
    again = ftlab.safe_load(tmp_path / "safe", other.model, **other.parts)
    assert again.differences(other.model, **other.parts) == ()
    assert other.train(3, 6) == losses
    assert other.state() == after


@pytest.mark.parametrize("kind", MODELS)
def test_saving_changes_nothing(kind: str, tmp_path: Path) -> None:
    plain, saving = loop(kind, tmp_path / "plain"), None
    plain.train(0, 4)
    expected = plain.state()
    saving = loop(kind, tmp_path / "saving")
    for step in range(4):
        saving.train(step, step + 1)
        ftlab.safe_save(saving.model, tmp_path / "safe", **saving.parts)
    assert saving.state() == expected


def test_names_what_differs(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    made.train(0, 2)
    found = ftlab.safe_save(made.model, tmp_path, **made.parts)
    assert found is not None
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.default.weight"
    made.model.get_parameter(name).data[0, 0] += 1e-6
    made.optimizer.param_groups[0]["lr"] = 0.5
    torch.rand(1)
    assert found.differences(made.model, **made.parts) == (
        f"weights:{name}",
        "optimizers:0.groups.0.lr",
        "rng:rng.cpu",
    )


def test_an_adapter_loads_as_peft_loads_it(saved: Path) -> None:
    from peft import PeftModel

    from ftlab.faults.builders.tiny import llama

    model = PeftModel.from_pretrained(llama(), saved, is_trainable=True)
    assert ftlab.safe_load(saved).differences(model)[0].startswith("rng:")


def test_nothing_is_pickled(saved: Path) -> None:
    kinds = {each.suffix for each in saved.rglob("*") if each.is_file()}
    assert kinds == {".safetensors", ".json", ".md"}


def damage(file: Path, how: str) -> None:
    data = bytearray(file.read_bytes())
    if how == "missing":
        file.unlink()
    elif how == "cut":
        file.write_bytes(data[: len(data) // 2])
    else:
        data[len(data) // 2] ^= 1
        file.write_bytes(data)


NAMES = (
    "adapter_model.safetensors",
    "adapter_config.json",
    "state.safetensors",
    "checkpoint.json",
    "README.md",
)


@pytest.mark.parametrize("how", ["flipped", "cut", "missing"])
@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_file_is_named(
    name: str, how: str, saved: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(saved, tmp_path / "checkpoint-3")
    assert ftlab.safe_load(folder).step == 3
    damage(folder / name, how)
    with pytest.raises(CheckpointError, match=name):
        ftlab.safe_load(folder)


def test_every_flipped_bit_of_a_manifest_is_seen(saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved, tmp_path / "checkpoint-3")
    file = folder / "checkpoint.json"
    whole = file.read_bytes()
    for place in [*random.Random(0).sample(range(len(whole)), 40), 0, len(whole) - 1]:
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        file.write_bytes(changed)
        with pytest.raises(CheckpointError, match=r"checkpoint\.json"):
            ftlab.safe_load(folder)


def test_a_damaged_tensor_is_named(saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved, tmp_path / "checkpoint-3")
    file = folder / "adapter_model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    last = r"in the tensor base_model.*lora_\w\.weight"
    with pytest.raises(CheckpointError, match=last):
        ftlab.safe_load(folder)


def test_what_is_damaged_is_not_put_into_a_model(saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved, tmp_path / "checkpoint-3")
    found = ftlab.safe_load(folder)
    damage(folder / "state.safetensors", "flipped")
    made = loop("lora", tmp_path)
    before = made.state()
    with pytest.raises(CheckpointError, match=r"state\.safetensors"):
        found.restore(made.model, **made.parts)
    assert made.state() == before


def test_the_last_one_that_is_whole_is_taken(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    for step in range(3):
        made.train(step, step + 1)
        ftlab.safe_save(made.model, tmp_path / "safe", **made.parts)
    damage(tmp_path / "safe" / "checkpoint-3" / "adapter_model.safetensors", "cut")
    (tmp_path / "safe" / "checkpoint-9").mkdir()
    with pytest.warns(FtlabWarning, match=r"checkpoint-2 is taken.*adapter_model"):
        assert ftlab.safe_load(tmp_path / "safe").step == 2


def test_a_second_copy_stands_in(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    for step in range(3):
        made.train(step, step + 1)
        ftlab.safe_save(
            made.model, tmp_path / "a", **made.parts, second=tmp_path / "b", keep=2
        )
    kept = ["checkpoint-2", "checkpoint-3"]
    assert [names_in(tmp_path / each) for each in "ab"] == [kept, kept]
    damage(tmp_path / "a" / "checkpoint-3" / "state.safetensors", "flipped")
    with pytest.warns(FtlabWarning, match=r"checkpoint-3 is taken.*state\.safetensors"):
        found = ftlab.safe_load(tmp_path / "a", second=tmp_path / "b")
    assert (found.step, found.path.parent.name) == (3, "b")
    shutil.rmtree(tmp_path / "a")
    assert ftlab.safe_load(tmp_path / "a", second=tmp_path / "b").step == 3


def test_one_that_is_not_good_is_not_the_last_good_one(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    made.train(0, 1)
    ftlab.safe_save(made.model, tmp_path / "safe", **made.parts)
    made.train(1, 2)
    next(iter(made.optimizer.state.values()))["exp_avg"][0, 0] = float("inf")
    found = ftlab.safe_save(made.model, tmp_path / "safe", **made.parts)
    assert found is not None
    assert found.why.endswith("exp_avg is not finite")
    with pytest.warns(FtlabWarning, match="checkpoint-2 is not good"):
        assert ftlab.safe_load(tmp_path / "safe").step == 1
    assert ftlab.safe_load(tmp_path / "safe" / "checkpoint-2").step == 2


def save_for_ever(folder: Path, made: Loop) -> None:
    for step in range(10_000):
        made.train(step % 4, step % 4 + 1)
        ftlab.safe_save(made.model, folder, **made.parts, keep=2, step=step)


def killed(folder: Path, delay: float, made: Loop, *, saving: bool) -> None:
    """Fork a process that saves in a loop, and kill it, surely or not while saving."""
    before = names_in(folder)
    child = os.fork()
    if child == 0:
        try:
            save_for_ever(folder, made)
        finally:
            os._exit(1)
    while names_in(folder) == before:
        time.sleep(0.001)
    time.sleep(delay)
    known = names_in(folder)
    while saving and not any(
        e.startswith(".") for e in set(names_in(folder)) - {*known}
    ):
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


@pytest.mark.parametrize("kills", [FEW, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_a_valid_checkpoint_is_there_after_each_kill(
    kills: int, tmp_path: Path
) -> None:
    made, folder = loop("lora", tmp_path), tmp_path / "safe"
    made.train(0, 1)
    ftlab.safe_save(made.model, folder, **made.parts, step=0)
    moments, left = random.Random(kills), []
    for kill in range(kills):
        killed(folder, moments.uniform(0.0, 0.4), made, saving=kill % 2 == 0)
        left.append(sum(each.startswith(".") for each in names_in(folder)))
        other = loop("lora", tmp_path)
        found = ftlab.safe_load(folder, other.model, **other.parts)
        assert found.differences(other.model, **other.parts) == ()
    assert max(left) <= 2, "what killed processes left is swept away"
    assert any(left), "no kill fell within a save"


# There is room for one checkpoint and a part of the next.
small_disk = disk_of("384k")


def test_a_full_disk_leaves_the_old_checkpoint(small_disk: Path) -> None:
    made = loop("lora", small_disk)
    made.train(0, 1)
    parts, saves = made.parts, 0
    with pytest.raises(CheckpointError, match="No space left"):  # noqa: PT012  a loop
        while saves < 9:
            saves += 1
            ftlab.safe_save(made.model, small_disk / "safe", **parts, step=saves)
    there = names_in(small_disk / "safe")
    assert there == [f"checkpoint-{n}" for n in range(1, saves)]
    assert ftlab.safe_load(small_disk / "safe").step == saves - 1 > 0


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        CheckpointError, match=r"cannot be written: (Not a dir|File exists)"
    ):
        ftlab.safe_save(tiny_lora(), tmp_path / "file" / "safe")


def test_a_second_folder_that_fails_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(FtlabWarning, match=r"checkpoint-0 is saved; but .*file"):
        found = ftlab.safe_save(
            tiny_lora(), tmp_path / "a", second=tmp_path / "file" / "b"
        )
    assert found is not None
    assert found.path.is_dir()


@pytest.mark.parametrize("watched", [False, True])
def test_gradients_that_wait_for_a_step_are_named(
    watched: bool, tmp_path: Path
) -> None:
    from transformers import TrainerCallback

    lacks: dict[str, bool] = {}

    class Saves(TrainerCallback):
        def on_substep_end(self, *_: Any, **__: Any) -> None:
            self.save("within")

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.save("after")

        def save(self, when: str) -> None:
            found = ftlab.safe_save(made, tmp_path / when)
            assert found is not None
            lacks[when] = "gradients" in found.lacks

    made = trainer(tmp_path, max_steps=2)
    made.add_callback(Saves())
    if watched:
        with ftlab.watch(made, run_dir=tmp_path / "run"):
            made.train()
    else:
        made.train()
    assert lacks == {"within": True, "after": False}
    says = ftlab.safe_load(tmp_path / "within")["gradients"].says
    assert says == "of micro-batches so far, in 12 parameters: save after the step"


@pytest.mark.parametrize("last", [False, True])
def test_a_watch_tells_old_gradients_from_those_that_wait(
    last: bool, tmp_path: Path
) -> None:
    made, lacks = loop("lora", tmp_path), list[bool]()
    with ftlab.watch(made.model, made.optimizer, run_dir=tmp_path / "run"):
        for at, batch in enumerate(batches(4)):
            if at % 2 == 0 and not last:
                made.optimizer.zero_grad()
            made.model(**batch).loss.backward()
            if at % 2:
                made.optimizer.step()
            if at % 2 and last:
                made.optimizer.zero_grad()
            found = ftlab.safe_save(made.model, tmp_path / "safe")
            assert found is not None
            lacks.append("gradients" in found.lacks)
    assert lacks == [True, False, True, False]


def test_accelerate_tells_that_gradients_wait(tmp_path: Path) -> None:
    from accelerate import Accelerator

    made, lacks = loop("lora", tmp_path), list[bool]()
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model, optimizer = accelerator.prepare(made.model, made.optimizer)
    for batch in batches(4):
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
        found = ftlab.safe_save(made.model, tmp_path / "safe", optimizer=optimizer)
        assert found is not None
        lacks.append("gradients" in found.lacks)
        if accelerator.sync_gradients:
            optimizer.zero_grad()
    assert lacks == [True, False, True, False]


def test_a_trainer_goes_on_exactly(tmp_path: Path) -> None:
    from transformers import TrainerCallback

    class Saves(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in (2, 3, 5):  # at the end of an epoch, and within
                ftlab.safe_save(made, tmp_path / "safe")

    plain, made = trainer(tmp_path), None
    plain.train()
    expected = state_of(plain)
    made = trainer(tmp_path)
    made.add_callback(Saves())
    made.train()
    assert state_of(made) == expected
    for step in (2, 3, 5) if EXACT else (2, 3):
        found = ftlab.safe_load(tmp_path / "safe" / f"checkpoint-{step}")
        assert found.step == step
        other = trainer(tmp_path)
        torch.manual_seed(99)  # another seed than that of the run
        found.resume(other)
        *trained, logs, drawn = state_of(other)
        assert [*trained, drawn] == [*expected[:3], expected[4]]
        # a callback comes before the log of its step, which the checkpoint lacks
        assert logs[step - 1 :] == expected[3][step:]


def test_lists_what_a_trainers_checkpoint_lacks(tmp_path: Path) -> None:
    made = trainer(tmp_path, save_strategy="steps", save_steps=4, logging_steps=3)
    made.train()
    folder = tmp_path / "out" / "checkpoint-4"
    found = ftlab.safe_load(folder)
    assert not found.verified
    assert found.lacks == ("tokenizer", "logged loss")
    assert "of steps 4 to 4" in found["logged loss"].says
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"):
        (folder / name).unlink()
    assert ftlab.safe_load(folder).lacks == (
        "optimizer",
        "schedule",
        "generators",
        "tokenizer",
        "position",
    )
    with pytest.raises(CheckpointError, match=r"was not written by ftlab\.safe_save"):
        found.restore(made)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that a Trainer has written by itself."""
    folder = tmp_path_factory.mktemp("published")
    trainer(folder, save_strategy="steps", save_steps=4).train()
    return folder / "out" / "checkpoint-4"


TRAINERS = (
    *("adapter_model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth"),
    *("trainer_state.json", "adapter_config.json", "training_args.bin"),
)


@pytest.mark.parametrize("size", ["half", "nothing"])
@pytest.mark.parametrize("name", TRAINERS)
def test_a_damaged_file_of_a_trainer_is_named(
    name: str, size: str, published: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(published, tmp_path / "checkpoint-4")
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) // 2 if size == "half" else 0])
    with pytest.raises(CheckpointError, match=rf"{name}' is damaged: .* Go on from"):
        ftlab.safe_load(folder)


def test_a_flipped_bit_in_a_torch_file_is_seen(published: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(published, tmp_path / "checkpoint-4")
    torch.save(torch.arange(4096), folder / "optimizer.pt")
    damage(folder / "optimizer.pt", "flipped")
    with pytest.raises(CheckpointError, match=r"optimizer\.pt"):
        ftlab.safe_load(folder)
    torch.save({}, folder / "optimizer.pt", _use_new_zipfile_serialization=False)
    found = ftlab.safe_load(folder)
    assert "optimizer" not in found.lacks
    (folder / "trainer_state.json").unlink()
    position = ftlab.safe_load(folder)["position"]
    assert position.says == "no trainer_state.json tells the step"


def test_lists_what_ours_lacks(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    found = ftlab.safe_save(made.model, tmp_path / "safe")
    assert found is not None
    lacks = ("optimizer", "schedule", "tokenizer", "arguments", "position")
    assert found.lacks == lacks
    assert list(found.table()["state"][:2]) == ["holds", "broken"]
    assert found.figure().axes
    assert "an exact resume lacks optimizer" in repr(found)


def test_what_is_not_put_back_is_named(tmp_path: Path) -> None:
    made = loop("lora", tmp_path)
    made.train(0, 1)
    found = ftlab.safe_save(made.model, tmp_path, **made.parts)
    assert found is not None
    with pytest.warns(FtlabWarning, match="holds schedulers, not put back"):
        found.restore(made.model, optimizer=made.optimizer)
    found.restore(made.model, optimizer=made.optimizer, schedule=False)


def test_a_scaler_and_extra_come_back(tmp_path: Path) -> None:
    made, scaler = loop("lora", tmp_path), torch.amp.GradScaler("cpu", init_scale=64.0)
    scaler.scale(torch.ones(1))
    given = {**made.parts, "scaler": scaler}
    found = ftlab.safe_save(made.model, tmp_path, **given, extra={"epoch": 2})
    assert found is not None
    scaler.load_state_dict(torch.amp.GradScaler("cpu").state_dict())
    assert found.differences(made.model, **given) == ("scaler:0.scale",)
    found.restore(made.model, **given)
    assert (scaler.get_scale(), found.extra) == (64.0, {"epoch": 2})


def test_refuses_what_it_cannot_save(tmp_path: Path, saved: Path) -> None:
    made = loop("lora", tmp_path)
    with pytest.raises(AttachError, match="safe_save\\(\\) was given a str"):
        ftlab.safe_save("model", tmp_path)
    with pytest.raises(BadValueError, match=r"extra\.x is a object"):
        ftlab.safe_save(made.model, tmp_path, extra={"x": object()})
    with pytest.raises(BadValueError, match=r"optimizers=\.\.\..*passed as optimizer="):
        ftlab.safe_save(made.model, tmp_path, optimizers=[])
    with pytest.raises(BadValueError, match="keep=0: it is a number of checkpoints"):
        ftlab.safe_save(made.model, tmp_path, keep=0)
    with pytest.raises(CheckpointError, match=r"holds no checkpoint; pass"):
        ftlab.safe_load(tmp_path)
    other = tiny_lora(r=2)
    with pytest.raises(AttachError, match=r"not the one of the run.*shape"):
        ftlab.safe_load(saved, other)
    sgd = torch.optim.SGD(made.model.parameters(), lr=0.1)
    with pytest.raises(AttachError, match="is not in the run"):
        ftlab.safe_load(saved, made.model, optimizer=sgd)
    with pytest.raises(BadValueError, match=r"resume\(\) was given a PeftModel"):
        ftlab.safe_load(saved).resume(made.model)


def test_a_manifest_names_no_file_outside(saved: Path, tmp_path: Path) -> None:
    from ftlab.replay.checkpoints.folder import sealed, unsealed

    folder = shutil.copytree(saved, tmp_path / "checkpoint-3")
    values = unsealed((folder / "checkpoint.json").read_bytes())
    del values["sha256"], values["schema"]
    values["files"]["../../secret"] = [1, "0"]
    (folder / "checkpoint.json").write_bytes(sealed(values))
    with pytest.raises(CheckpointError, match="outside of its folder"):
        ftlab.safe_load(folder)
