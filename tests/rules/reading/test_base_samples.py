"""Samples of base weights against each other."""

import pytest

from ftlab.rules.reading.base_samples import bare_name, compare


def row(*values, dtype="float32", shape=(4, 4)):
    return {"dtype": dtype, "shape": list(shape), "values": list(values)}


VALUES = (1.0, -0.5, 0.25, 2.0)


def test_equal_samples_are_equal():
    found = compare({"a.weight": row(*VALUES)}, {"a.weight": row(*VALUES)})
    assert (found.weights, found.different, found.largest) == (1, (), 0.0)


def test_one_bit_is_a_difference_in_one_dtype():
    changed = (*VALUES[:3], 2.0000002)
    found = compare({"a.weight": row(*VALUES)}, {"a.weight": row(*changed)})
    assert found.different == ("a.weight",)


def test_rounding_is_none_between_two_dtypes():
    rounded = row(1.0, -0.502, 0.2505, 1.992, dtype="bfloat16")
    found = compare({"a.weight": row(*VALUES)}, {"a.weight": rounded})
    assert found.different == ()
    other = row(1.0, 0.5, 0.5, 2.0, dtype="bfloat16")
    assert compare({"a.weight": row(*VALUES)}, {"a.weight": other}).different


def test_what_an_initialisation_wrote_is_allowed():
    changed = row(1.01, -0.51, 0.26, 2.01)
    before = {"a.weight": row(*VALUES)}
    assert compare(before, {"a.weight": changed}, least=0.05).different == ()


def test_another_shape_is_another_weight():
    other = {"a.weight": row(*VALUES, shape=(2, 8))}
    assert compare({"a.weight": row(*VALUES)}, other).different == ("a.weight",)


def test_names_agree_without_what_peft_adds():
    before = {"base_model.model.a.base_layer.weight": row(*VALUES)}
    assert compare(before, {"a.weight": row(*VALUES)}).different == ()


@pytest.mark.parametrize("other", [{}, {"b.weight": row(*VALUES)}])
def test_nothing_in_common_is_undecided(other):
    assert compare({"a.weight": row(*VALUES)}, other) is None


def test_the_prefix_may_stand_twice():
    name = "base_model.model.base_model.model.a.base_layer.weight"
    assert bare_name(name) == "a.weight"
