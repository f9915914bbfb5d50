"""Prompts that are padded behind their last token."""

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import llama
from ftlab.probes.attention.padded_prompts import behind_padding

IDS = torch.tensor([[5, 6, 7, 0, 0], [5, 6, 7, 8, 9]])
RIGHT = {"input_ids": IDS, "attention_mask": (IDS > 0).long()}
LEFT = {name: value.flip(1) for name, value in RIGHT.items()}


def test_what_generate_reads_behind_padding_is_measured():
    model = llama().train()
    words = behind_padding(model, RIGHT)
    alone = model(input_ids=IDS[:1, :3]).logits[0, -1]
    assert words.startswith("prompt 0 ends in padding, and generate goes on")
    assert f"{int(alone.argmax())} for the prompt alone" in words
    assert model.training


@pytest.mark.parametrize("well", [LEFT, {**RIGHT, "labels": IDS}, {"input_ids": IDS}])
def test_prompts_padded_on_the_left_and_rows_to_train_on_are_left_alone(well):
    assert behind_padding(llama(), well) == ""


def test_preflight_and_masks_tell_it():
    model = llama()
    assert "prompt 0 ends in padding" in repr(ftlab.preflight(model=model, batch=RIGHT))
    assert "prompt 0 ends in padding" in repr(ftlab.masks(model, RIGHT))
    assert "ends in padding" not in repr(ftlab.preflight(model=model, batch=LEFT))


def test_a_watch_does_not_hear_the_look(tmp_path):
    model = llama()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        behind_padding(model, RIGHT)
        model(**LEFT, labels=LEFT["input_ids"]).loss.backward()
        optimizer.step()
    assert [each.op for each in watch.run.ledger] == ["forward", "backward", "step"]
