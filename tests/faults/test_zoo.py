"""Tiny models of further families."""

import pytest
import torch

from ftlab.faults.builders import zoo
from ftlab.faults.builders.tiny import batches
from ftlab.faults.variation import Variation, varied

CAUSAL = ("qwen3", "gemma", "phi", "opt", "mamba")


@pytest.mark.parametrize("name", CAUSAL)
def test_causal_models_compute_their_own_loss(name):
    model, (batch,) = getattr(zoo, name)(), batches(1)
    loss = model(**batch).loss
    loss.backward()
    assert 4 < loss < 6.5
    assert model.config.hidden_size == 64


@pytest.mark.parametrize("name", CAUSAL)
def test_sizes_follow_the_variation(name):
    with varied(Variation(width=32, depth=3)):
        model = getattr(zoo, name)()
    assert model.config.hidden_size == 32
    assert model.config.num_hidden_layers == 3


def test_a_seed_gives_other_weights():
    first = zoo.phi().state_dict()
    with varied(Variation(seed=1)):
        second = zoo.phi().state_dict()
    name = "lm_head.weight"
    assert not torch.equal(first[name], second[name])
    assert torch.equal(first[name], zoo.phi().state_dict()[name])


def test_an_encoder_and_a_decoder_share_the_embedding():
    model = zoo.t5(num_layers=1)
    assert model.encoder.embed_tokens.weight is model.decoder.embed_tokens.weight


def test_classes_are_told_by_the_first_token():
    made = batches(4)
    for batch, old in zip(zoo.classes(made), made, strict=True):
        assert batch["labels"].shape == (4,)
        assert batch["labels"].max() < zoo.LABELS
        assert torch.equal(batch["labels"], old["input_ids"][:, 0] // 43)
    assert zoo.roberta()(**zoo.classes(made)[0]).logits.shape == (4, zoo.LABELS)


def test_pictures_have_a_stripe_where_the_label_says():
    for batch in zoo.pictures(3):
        rows = batch["pixel_values"].mean((1, 3))
        heights = [
            int(torch.stack([row[5 * k : 5 * k + 3].mean() for k in range(3)]).argmax())
            for row in rows
        ]
        assert heights == batch["labels"].tolist()
    assert zoo.vit()(**batch).loss > 0
