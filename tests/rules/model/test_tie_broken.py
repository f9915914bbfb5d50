"""MOD015: tied weights that are trained as two."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.model.tie_broken import TieBroken
from tests.runs import RunBuilder, found_by, only


def check(copies="none", trainable=("lm_head.weight",)):
    pair = {
        "input": "model.embed_tokens.weight",
        "output": "lm_head.weight",
        "trainable": list(trainable),
        "dtypes": ["float32", "float32"],
        "copies": copies,
    }
    run = RunBuilder().facts(model={"untied": [pair]}).step().run
    return found_by(TieBroken(), run)


@pytest.mark.parametrize(
    ("copies", "call"),
    [
        ("none", Place("call", "tie_weights")),
        ("both", Place("config", "ensure_weight_tying")),
    ],
)
def test_two_that_are_trained_are_a_warning(copies, call):
    finding = only(check(copies), "warning", "param lm_head.weight")
    assert call in finding.places


def test_frozen_ones_and_a_copy_of_one_side_are_left_alone():
    assert check(trainable=()) == ()
    assert check("one") == ()
