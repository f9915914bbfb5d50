"""Limits are those of the config; what reaches beyond is counted in real tokens."""

import pytest
import torch
import transformers as hf

from ftlab.probes.attention.documents import Marks, documents_of
from ftlab.probes.attention.position_limit import beyond, limit_of
from tests.probes.attention import tiny

ROTARY = {"rope_theta": 1e4, "factor": 4.0}


def rotary(**more):
    return tiny.llama(max_position_embeddings=32, rope_parameters={**ROTARY, **more})


def test_tables_and_rotary_positions_have_the_limit_of_their_config():
    assert limit_of(tiny.gpt2()) == 64
    assert limit_of(tiny.opt()) == 64
    assert limit_of(tiny.llama(max_position_embeddings=32)) == 32


def test_scaled_positions_reach_as_far_as_their_factor():
    assert limit_of(rotary(rope_type="linear")) == 128
    yarn = {"rope_type": "yarn", "original_max_position_embeddings": 8}
    assert limit_of(rotary(**yarn)) == 32
    assert limit_of(rotary(rope_type="dynamic")) == 0


@pytest.mark.parametrize("build", [tiny.bloom, tiny.mistral, tiny.t5, tiny.bart])
def test_biases_and_windows_in_all_layers_have_none(build):
    assert limit_of(build()) == 0


def test_a_model_without_a_config_has_none():
    assert limit_of(torch.nn.Linear(2, 2)) == 0


def test_one_layer_that_sees_all_has_a_limit():
    assert limit_of(tiny.gemma(max_position_embeddings=32)) == 32


def test_pictures_take_fewer_positions_than_tokens():
    text = {**tiny.SMALL, **tiny.HEADS}
    config = hf.Qwen2VLConfig(text_config=text, vision_config={"depth": 1})
    model = torch.nn.Linear(2, 2)
    model.config = config
    assert limit_of(model) == 0


def reached(limit=8, width=12, **more):
    given = {"input_ids": torch.full((2, width), 5), **more}
    return beyond(given, documents_of(given, Marks()), limit)


def test_the_first_token_beyond_is_named():
    assert reached() == {"row": 0, "token": 8, "last": 11, "limit": 8}


def test_padding_does_not_count():
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[0, :6] = mask[1, 8:] = 0
    assert reached(attention_mask=mask) == {}
    mask[1, 8] = 1
    assert reached(attention_mask=mask)["token"] == 8


def test_positions_that_begin_again_do_not_reach_so_far():
    again = torch.arange(6).repeat(2)[None]
    assert reached(position_ids=again) == {}
    assert reached(position_ids=torch.arange(12)[None])["token"] == 8


@pytest.mark.parametrize("shape", [(3, 2, 12), (2, 11)])
def test_positions_of_other_shapes_are_not_judged(shape):
    assert reached(position_ids=torch.zeros(shape, dtype=torch.long)) == {}
