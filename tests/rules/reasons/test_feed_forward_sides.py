"""The side on which IA3 scales."""

from ftlab.rules.reasons.feed_forward_sides import FIELD, wrong_sides


def sides(*, narrowing=(), at_input=(), default=False, counts=None):
    rescaled = {
        "narrowing": {"count": len(narrowing), "names": list(narrowing)},
        "at_input": {"count": len(at_input), "names": list(at_input)},
        "as_by_default": default,
    }
    return wrong_sides({"rescaled": rescaled, "asked": {FIELD: counts or {}}})


def test_the_last_feed_forward_layer_belongs_at_the_input():
    assert sides(narrowing=["0.mlp.down_proj"]) == (["0.mlp.down_proj"], [])


def test_keys_and_values_belong_at_the_output():
    assert sides(at_input=["0.k_proj", "0.mlp.down_proj"]) == ([], ["0.k_proj"])


def test_keys_of_grouped_queries_narrow_as_well():
    assert sides(narrowing=["0.self_attn.k_proj"]) == ([], [])


def test_what_peft_does_by_default_is_right():
    assert sides(narrowing=["0.mlp.down_proj"], default=True) == ([], [])


def test_unknown_names_are_judged_where_no_entry_matches():
    assert sides(narrowing=["0.grow"]) == ([], [])
    assert sides(narrowing=["0.grow"], counts={"fc2": 0}) == (["0.grow"], [])
    assert sides(narrowing=["0.grow"], counts={"fc2": 0, "x": 1}) == ([], [])


def test_other_methods_have_no_sides():
    assert wrong_sides({}) == ([], [])
