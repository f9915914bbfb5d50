"""The gallery's tiny models and batches."""

import torch

from ftlab.faults.builders.tiny import (
    VOCABULARY,
    adamw,
    batches,
    llama,
    lora,
    token_loss,
)


def test_batches_follow_the_rule():
    (batch,) = batches(1, size=3, length=5)
    ids = batch["input_ids"]
    assert torch.equal(ids[:, 1:], (3 * ids[:, :-1] + 7) % VOCABULARY)
    assert torch.equal(batch["labels"], ids)


def test_models_are_seeded():
    first, second = llama().state_dict(), llama().state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_optimizer_holds_what_is_trainable():
    model = lora()
    (group,) = adamw(model).param_groups
    assert len(group["params"]) == 8
    assert group["weight_decay"] == 0.0


def test_the_loss_is_the_models():
    model, (batch,) = llama(), batches(1)
    output = model(**batch)
    assert torch.allclose(token_loss(output.logits, batch), output.loss)
