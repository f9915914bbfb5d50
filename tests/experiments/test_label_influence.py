"""One token or label changed at a time."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.experiments.set_ups import (
    after,
    around,
    gpt2,
    llama,
    lora,
    masked_lm,
    named,
    packed,
    padded,
    tried,
)


def confident():
    """Return a model in float16 that is all but certain of each token."""
    model = llama().half()
    with torch.no_grad():
        model.lm_head.weight.mul_(400)
    return model


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        (llama, padded()),
        (lambda: llama().bfloat16(), padded(left=False)),
        (lambda: lora(init_lora_weights=False), padded()),
        (gpt2, packed()),
        (confident, padded()),
    ],
    ids=["llama", "bf16", "lora", "packed", "confident"],
)
def test_what_is_masked_moves_nothing(model, batch):
    outcome = tried("label-influence", model(), batch)
    assert outcome.state == "holds", outcome.says


def test_it_does_not_apply_to_a_model_that_reads_both_ways():
    outcome = tried("label-influence", *masked_lm())
    assert outcome.state == "does not apply"
    assert outcome.says == "BertForMaskedLM does not predict the next token"


def test_it_does_not_apply_without_labels():
    batch = {k: v for k, v in padded().items() if k != "labels"}
    outcome = tried("label-influence", llama(), batch)
    assert outcome.state == "does not apply"
    assert outcome.says == "the batch has no labels by token"


def test_attention_in_both_directions_is_found():
    outcome = tried("label-influence", llama(is_causal=False), padded())
    assert named(outcome) == ["attention"]
    assert outcome.says == "the last token of row 0 changes position 0 before it"


@pytest.mark.parametrize(
    "change", [lambda h: h + h.roll(-1, 1), lambda h: h - h.mean(1, keepdim=True)]
)
def test_a_module_that_reads_ahead_is_found(change):
    model = around(llama(), "model.layers.0.mlp", after(change))
    outcome = tried("label-influence", model, padded(lengths=(12, 12)))
    assert named(outcome) == ["attention"]
    assert "before it" in outcome.says


def test_padding_that_is_attended_to_is_found():
    model = llama()

    def drop(_module, args, kwargs):
        return args, kwargs | {"attention_mask": None}

    model.model.register_forward_pre_hook(drop, with_kwargs=True)
    outcome = tried("label-influence", model, padded())
    assert named(outcome) == ["attention"]
    assert outcome.says == "padding tokens change row 1, position 3"


def test_labels_on_padding_are_found():
    batch = padded(left=False)
    outcome = tried("label-influence", llama(), batch | {"labels": batch["input_ids"]})
    assert named(outcome) == ["labels"]
    assert outcome.says == "a padding token has a label: row 1, position 9"


def logits_of(model, batch):
    return model(**{k: v for k, v in batch.items() if k != "labels"}).logits


def clamped(model, batch):
    labels = batch["labels"][:, 1:].clamp(min=0)
    return cross_entropy(
        logits_of(model, batch)[:, :-1].flatten(0, 1), labels.flatten()
    )


def half(model, batch):
    labels = batch["labels"].clone()
    labels[2:] = -100
    return model(**batch | {"labels": labels}).loss


def by_mask(model, batch):
    """Take the attention mask for the label mask, which trains on prompts."""
    losses = cross_entropy(
        logits_of(model, batch)[:, :-1].transpose(1, 2),
        batch["input_ids"][:, 1:],
        reduction="none",
    )
    mask = batch["attention_mask"][:, 1:]
    return (losses * mask).sum() / mask.sum()


def last_lost(model, batch):
    return model(
        **batch | {"labels": batch["labels"].index_fill(1, torch.tensor(11), -100)}
    ).loss


PART = "a prediction whose label is -100 has a part in the loss: row 0, position 1"


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        (clamped, PART),
        (by_mask, PART),
        (half, "a label that is not -100 has no part in the loss: row 2, position 9"),
        (
            last_lost,
            "a label that is not -100 has no part in the loss: row 0, position 11",
        ),
    ],
)
def test_a_loss_over_other_labels_is_found(loss, says):
    outcome = tried("label-influence", llama(), padded(), loss=loss)
    assert named(outcome) == ["labels"]
    assert outcome.says == says
