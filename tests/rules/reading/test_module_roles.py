"""What a layer is for, by its name."""

import pytest

from ftlab.rules.reading.module_roles import role_of


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("q_proj", "attention-in"),
        ("transformer.h.#.attn.c_attn", "attention-in"),
        ("transformer.h.#.attn.c_proj", "attention-out"),
        ("transformer.h.#.mlp.c_proj", "feed-forward"),
        ("gpt_neox.layers.#.attention.dense", "attention-out"),
        ("encoder.block.#.layer.#.DenseReluDense.wo", "feed-forward"),
        ("model.layers.#.mlp.gate_up_proj", "feed-forward"),
        ("down_proj", "feed-forward"),
        ("c_proj", ""),
        ("squeeze", ""),
        ("tower.#.look", ""),
    ],
)
def test_roles(name, role):
    assert role_of(name) == role
