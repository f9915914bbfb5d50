"""Vectors that are small without the matrix beside them."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.rules.reasons.lone_vectors import without_lone_vectors


def name(text, shape, module=""):
    meta = {"module": module, "adapter": "default" if module else ""}
    return NameRecord(0, "tensors", text, "param", "", shape, meta=meta)


def kept(marks, *names):
    """Tell which tensors are still marked at one step."""
    return without_lone_vectors(np.array([marks]), names)[0].tolist()


BIAS = name("layers.0.conv.bias", (8,))
WEIGHT = name("layers.0.conv.weight", (8, 3, 3, 3))


def test_a_bias_counts_with_its_weight():
    assert kept([True, True], BIAS, WEIGHT) == [True, True]
    assert kept([True, False], BIAS, WEIGHT) == [False, False]


def test_a_matrix_counts_by_itself():
    assert kept([False, True], BIAS, WEIGHT) == [False, True]


def test_each_step_is_judged_by_itself():
    low = np.array([[True, True], [True, False]])
    left = without_lone_vectors(low, [BIAS, WEIGHT])
    assert left[:, 0].tolist() == [True, False]
    assert low[:, 0].all()


@pytest.mark.parametrize("shape", [(8,), (1, 8), (8, 1), (), (1, 8, 1, 1)])
def test_a_vector_without_a_matrix_never_counts(shape):
    assert kept([True], name("layers.0.scale", shape)) == [False]


@pytest.mark.parametrize(
    ("vector", "matrix"),
    [
        (
            name("l.0.q.base_layer.bias", (8,)),
            name("l.0.q.lora_B.default.weight", (8, 2), module="l.0.q"),
        ),
        (
            name("l.0.q.lora_magnitude_vector.default", (8,), module="l.0.q"),
            name("l.0.q.lora_B.default.weight", (8, 2), module="l.0.q"),
        ),
        (
            name("l.0.q.bias", (8,)),
            name("l.0.q.parametrizations.weight.original1", (8, 8)),
        ),
    ],
)
def test_what_wraps_a_layer_belongs_to_it(vector, matrix):
    assert kept([True, True], vector, matrix) == [True, True]
    assert kept([True, False], vector, matrix) == [False, False]


def test_another_layers_matrix_does_not_count():
    other = name("layers.1.conv.weight", (8, 8))
    assert kept([True, True], BIAS, other) == [False, True]
