"""MOD007: heads in 4 or 8 bits."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.model.quantised_head import QuantisedHead
from tests.runs import RunBuilder, found_by, only

HEAD = {
    "module": "m.score",
    "kind": "task",
    "bits": 4,
    "shape": [3, 64],
    "adapted": False,
    "std": 0.02,
    "drawn_with": 0.02,
}


def check(trained=True, **head):
    builder = RunBuilder().facts(model={"quantised_heads": [HEAD | head]})
    if trained:
        builder.step()
    return found_by(QuantisedHead(), builder.run)


def test_a_new_head_cannot_learn():
    only(check(), "error", "module m.score", reason="fresh-head")


@pytest.mark.parametrize(
    ("head", "severity"),
    [
        ({"kind": "output"}, Severity.WARNING),
        ({"kind": "output", "adapted": True}, Severity.INFO),
        ({"kind": "output", "bits": 8}, Severity.INFO),
        ({"drawn_with": None}, Severity.INFO),
        ({"adapted": True}, Severity.INFO),
    ],
)
def test_what_costs_less_is_said_more_softly(head, severity):
    only(check(**head), severity.label)


def test_a_model_that_is_only_used_is_left_alone():
    assert check(trained=False) == ()
