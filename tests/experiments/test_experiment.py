"""How an experiment tells what came out."""

import numpy as np

from ftlab.experiments.experiment import said
from ftlab.records.difference import Born
from ftlab.records.outcome import STATES, Outcome
from tests.experiments.set_ups import after, around, llama, padded, tried


def test_a_broken_relation_carries_evidence_and_both_executions():
    model = around(llama(), "model.layers.1.mlp", after(lambda h: h - h.mean(0)))
    outcome = tried("row-order", model, padded())
    assert outcome.state == "holds"  # a mean over rows knows no order
    outcome = tried("row-alone", model, padded())
    assert set(outcome.evidence) == {"outputs over floor", "ratio", "relative"}
    assert outcome.differences.sides == ("row 2 alone", "row 2 in the padded batch")
    finding = outcome.finding
    assert (finding.code, finding.name) == ("EXP001", "row-alone")
    assert finding.places == outcome.places
    assert finding.fix == outcome.fix != ""


def test_what_holds_is_no_finding_and_needs_no_cause():
    for state in set(STATES) - {"broken"}:
        assert Outcome("EXP001", "row-alone", "it holds", state, "so").finding is None
    outcome = tried("row-order", llama(), padded())
    assert (outcome.cause, outcome.fix, outcome.places) == ("", "", ())


def test_a_difference_is_said_with_module_operation_and_size():
    class Two:
        sides = ("one", "other")

    def born(**more):
        return Born(
            **{
                "module": "",
                "phase": "forward",
                "tensor": "what it returns",
                "ratio": float("inf"),
                "relative": 1.0,
                "tokens": np.zeros((0, 2)),
                "ops": ("", ""),
                "lines": ("", ""),
            }
            | more
        )

    assert said(Two, [born()]) == (
        "one and other part at the model: what it returns, differs"
    )
    more = born(module="a.b", ops=("softmax", ""), ratio=1234.5)
    assert said(Two, [more, born()]) == (
        "one and other part at a.b, operation softmax: what it returns, 1,234 x the "
        "floor, and 1 more"
    )
