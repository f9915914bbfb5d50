"""Saving while watched: the ledger, and what is told of the file."""

import shutil

import safetensors.torch
import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, llama, lora
from ftlab.faults.builders.trainers import trained
from ftlab.faults.fault import Case
from ftlab.session.score import record


def saves(run):
    return [entry for entry in run.ledger if entry.op == "save"]


def saving(model, save):
    optimizer = adamw(model)
    step = plain_step(model, optimizer)
    return record(Case(model, optimizer, batches(), step, afterwards=save), 2)


def test_a_save_is_in_the_ledger_with_what_was_written(tmp_path):
    model = lora()
    run = saving(model, lambda: model.save_pretrained(tmp_path / "mine"))
    (entry,) = saves(run)
    assert (entry.step, entry.target) == (1, "model")
    assert entry.detail["folder"] == "mine"
    assert entry.detail["keys"] == 8
    assert entry.detail["unsaved"] == []


def test_a_keyword_is_a_folder_too(tmp_path):
    model = lora()
    run = saving(model, lambda: model.save_pretrained(save_directory=str(tmp_path)))
    assert len(saves(run)) == 1


def test_a_full_model_is_told_once(tmp_path):
    model = llama()
    run = saving(model, lambda: model.save_pretrained(tmp_path))
    (entry,) = saves(run)
    assert (entry.detail["kind"], entry.detail["keys"]) == ("model", 21)


def test_another_model_is_not_ours(tmp_path):
    model, other = lora(), lora()
    assert saves(saving(model, lambda: other.save_pretrained(tmp_path))) == []


def test_a_process_that_does_not_write_is_not_told(tmp_path):
    model = lora()
    run = saving(model, lambda: model.save_pretrained(tmp_path, is_main_process=False))
    assert saves(run) == []


def test_a_trainers_checkpoints_are_seen():
    case = trained(lora(), max_steps=4, save_strategy="steps", save_steps=2)
    run = record(case, 4)
    assert [e.detail["folder"] for e in saves(run)] == ["checkpoint-2", "checkpoint-4"]


def after_saving(model, spoil):
    """Let a model spoil what it has saved."""
    kind = type(model)

    class Mine(kind):
        def save_pretrained(self, folder, **settings):
            super().save_pretrained(folder, **settings)
            spoil(folder)

    model.__class__ = Mine
    return model


def test_an_adapter_that_was_moved_at_once_is_no_failure(tmp_path, recwarn):
    model = after_saving(lora(), shutil.rmtree)
    run = saving(model, lambda: model.save_pretrained(tmp_path / "gone"))
    (entry,) = saves(run)
    assert entry.detail == {"folder": "gone", "kind": "unread"}
    assert not [each for each in recwarn if "ftlab" in str(each.message)]


def test_a_file_that_is_damaged_does_not_end_watching(tmp_path, recwarn):
    def damage(folder):
        (folder / "model.safetensors").write_bytes(b"no tensors")

    model = after_saving(llama(), damage)
    run = saving(model, lambda: model.save_pretrained(tmp_path / "bad"))
    (entry,) = saves(run)
    assert entry.detail == {"folder": "bad"}
    assert not [each for each in recwarn if "ftlab" in str(each.message)]


def writes(run):
    return [entry.detail for entry in run.ledger if entry.op == "write"]


def test_files_of_ones_own_are_told_and_the_last_one_again_at_the_end(tmp_path):
    model = lora()
    file = tmp_path / "own.pt"
    run = saving(model, lambda: torch.save(model.state_dict(), file))
    first, last = writes(run)
    assert (first["file"], first["has"], first["of"]) == ("own.pt", 8, 8)
    assert last["over"]
    (whole,) = saves(run)
    assert whole.detail["own"]


def test_safetensors_are_told_too(tmp_path):
    model = lora()
    state = {k: v.clone() for k, v in model.state_dict().items() if "lora_A" in k}
    file = str(tmp_path / "a.safetensors")
    run = saving(model, lambda: safetensors.torch.save_file(state, filename=file))
    assert [each.get("file") for each in writes(run)] == ["a.safetensors", None]


def test_what_a_save_of_the_model_writes_is_its_own_matter(tmp_path):
    model = lora()
    run = saving(model, lambda: model.save_pretrained(tmp_path))
    assert writes(run) == []


def test_torchs_function_is_its_own_again_afterwards(tmp_path):
    before = torch.save, safetensors.torch.save_file
    saving(lora(), lambda: None)
    assert (torch.save, safetensors.torch.save_file) == before
