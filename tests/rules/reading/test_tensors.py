"""Arrays over steps and tensors."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import elements, in_a_row, pattern, records_of, routed
from tests.runs import healthy_lora


def name(text, layer="layers.0", shape=(4, 4)):
    return NameRecord(0, "tensors", text, "param", layer, shape)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_in_a_row_agrees_with_counting(count):
    rng = np.random.default_rng(0)
    mask = rng.random((40, 3)) < 0.7
    streak = in_a_row(mask, count)
    for column in range(3):
        length = 0
        for line in range(40):
            length = length + 1 if mask[line, column] else 0
            assert streak[line, column] == (length >= count)


def test_a_short_mask_has_no_streak():
    assert not in_a_row(np.ones((2, 1), bool), 3).any()
    assert not in_a_row(np.ones(2, bool), 3).any()


def test_patterns_hide_numbered_modules_only():
    assert pattern("layers.11.mlp.fc2") == "layers.#.mlp.fc2"
    assert pattern("0.weight") == "#.weight"


def test_elements_of_a_scalar_is_one():
    assert elements([name("a", shape=()), name("b", shape=(2, 3))]).tolist() == [1, 6]


def test_experts_of_one_layer_are_twins():
    names = [
        name("model.layers.0.experts.0.w1"),
        name("model.layers.0.experts.3.w1"),
        name("model.layers.0.experts.3.w2"),
        name("model.layers.1.experts.3.w1", "layers.1"),
    ]
    lost = np.array([False, True, True, True])
    assert routed(names, lost).tolist() == [False, True, False, False]


def test_pairs_on_numbered_experts_are_twins():
    path = "model.layers.0.experts.{} [default]"
    names = [
        NameRecord(i, "adapters", path.format(i), "adapter", "layers.0")
        for i in range(2)
    ]
    assert routed(names, np.array([False, True])).tolist() == [False, True]


def test_digits_within_a_name_make_no_twins():
    names = [name("model.layers.0.fc1"), name("model.layers.0.fc2")]
    assert not routed(names, np.array([False, True])).any()


def test_other_shapes_are_no_twins():
    names = [name("layers.0.adapter.0"), name("layers.0.adapter.2", shape=(4, 2))]
    assert not routed(names, np.array([False, True])).any()


def test_rows_without_a_name_get_one():
    run = healthy_lora(2).run
    records = records_of(run, np.array([0, 99], np.int32))
    assert [record.name for record in records] == [
        "model.layers.0.q.lora_A.default.weight",
        "#99",
    ]
