"""Which ids and labels a model can take."""

import pytest
import torch

from ftlab.faults.builders.tiny import VOCABULARY, llama, lora
from ftlab.faults.builders.zoo import LABELS, roberta, t5, vit
from ftlab.probes.tokens.batch_limits import BatchLimits, limits_of


def resized():
    model = llama()
    model.resize_token_embeddings(VOCABULARY + 8, mean_resizing=False)
    return model


def with_head_and_words():
    return lora(llama(), modules_to_save=["embed_tokens", "lm_head"])


def on_words():
    return lora(llama(), target_modules=["embed_tokens", "lm_head", "q_proj"])


@pytest.mark.parametrize("build", [llama, t5, with_head_and_words, on_words])
def test_rows_of_embedding_and_head_are_found_behind_adapters(build):
    found = limits_of(build())
    assert (found.ids, found.labels) == (VOCABULARY, VOCABULARY)
    assert found.per_token
    assert found.aligned == (build is not t5)
    assert found.known


def test_a_resize_is_followed():
    assert limits_of(resized()).ids == VOCABULARY + 8


def test_classifiers_have_classes():
    found = limits_of(roberta())
    assert (found.ids, found.labels, found.per_token) == (VOCABULARY, LABELS, False)
    assert limits_of(roberta(kind="TokenClassification")).per_token
    assert limits_of(vit()).labels == LABELS
    assert limits_of(vit()).ids is None
    assert limits_of(roberta(num_labels=1)).labels is None
    assert limits_of(roberta(kind="MaskedLM")).labels == VOCABULARY


def test_places_of_pictures_are_known_by_the_configuration():
    model = llama()
    model.config.image_token_id = 500
    model.config.video_token_index = 501
    assert limits_of(model).placeholders == {500, 501}


def test_of_a_model_of_ones_own_the_largest_embedding_counts():
    model = torch.nn.Sequential(torch.nn.Embedding(9, 2), torch.nn.Embedding(5, 2))
    assert limits_of(model) == BatchLimits(ids=9)
    assert limits_of(torch.nn.Linear(2, 2)) == BatchLimits()
