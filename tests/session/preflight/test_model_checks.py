"""Layer model: something is trainable, forward works, the first loss is plausible."""

import pytest
import torch

from ftlab.session.preflight.preflight import preflight
from tests.models import tiny_llama
from tests.session.preflight.objects import item_of, lora_loop

LOSS = "first loss against guessing"


def test_what_is_trainable_is_counted():
    item = item_of("something is trainable", **lora_loop())
    assert item.says.startswith("12 of 33 tensors, ")
    assert item.status == "passed"


def test_a_model_of_which_nothing_is_trainable_fails_and_is_still_tried():
    model = tiny_llama().requires_grad_(requires_grad=False)
    held = torch.optim.AdamW(model.parameters())
    given = lora_loop() | {"model": model, "optimizer": held}
    checklist = preflight(**given)
    (item,) = [i for i in checklist if i.name == "something is trainable"]
    assert item.says.startswith("none of the 21 parameters requires a gradient")
    (tried,) = [i for i in checklist if i.name == "forward works"]
    assert tried.status == "passed"


def test_a_frozen_model_that_nothing_would_train_may_be_meant_so():
    model = tiny_llama().requires_grad_(requires_grad=False)
    (item,) = [i for i in preflight(model) if i.name == "something is trainable"]
    assert item.status == "not checked"
    assert "optimizer=" in item.fix


def test_a_first_loss_near_guessing_passes():
    item = item_of(LOSS, **lora_loop())
    assert item.status == "passed"
    assert "guessing blindly among 128 tokens gives 4.85" in item.says


@pytest.mark.parametrize(
    ("origin", "label"), [("a/model", "warning"), ("", "passed")], ids=str
)
def test_a_first_loss_far_above_guessing_fails_in_a_loaded_model(origin, label):
    given = lora_loop()
    given["model"].get_base_model().config._name_or_path = origin
    with torch.no_grad():
        given["model"].get_output_embeddings().weight.mul_(200)
    item = item_of(LOSS, **given)
    assert item.label == label
    assert item.evidence["loss"] > 1.5 * item.evidence["ln vocabulary"]


def test_what_forward_raises_is_a_failed_item():
    given = lora_loop()
    for batch in given["batches"]:
        batch["attention"] = batch.pop("attention_mask")
        batch["input_ids"] = batch["input_ids"].float()
    item = item_of("forward works", **given)
    assert item.says.startswith("forward of embed_tokens raised RuntimeError")
    kinds = [(place.kind, place.name.rpartition(".")[2]) for place in item.places]
    assert kinds == [("module", "embed_tokens"), ("call", "forward")]


def test_a_model_without_a_loss_is_not_checked_and_says_what_to_pass():
    model = torch.nn.Linear(3, 2)
    item = item_of("forward works", model=model, batch=torch.ones(4, 3))
    assert item.status == "not checked"
    assert "a tensor of shape (4, 2)" in item.says
    assert "step=" in item.says
