"""NUM012."""

import pytest

from ftlab.records.facts import Facts
from ftlab.records.step import LedgerEntry, StepRecord
from ftlab.rules.engine import Engine
from ftlab.rules.numeric.term_without_gradient import TermWithoutGradient
from ftlab.runlog.run import Run
from tests.runs import only


def check(*terms, loss=5.0, **model):
    run = Run()
    run.append(Facts(0, model={"parameters": 10, "trainable": 10} | model))
    run.append(LedgerEntry(0, 0, "backward", "loss"))
    for step, term in enumerate(terms):
        values = {"constant_loss": term, "constant_share": term / loss}
        run.append(StepRecord(step, 0.0, values=values))
    return Engine([TermWithoutGradient()]).check(run).findings


def test_a_term_that_varies_is_found():
    finding = only(check(0.2, 0.21, 0.19), "warning", "object loss")
    assert "4 % of the loss" in finding.message
    assert finding.evidence["spread"] == pytest.approx(0.02)


def test_a_term_that_is_taken_off_counts_as_well():
    (finding,) = check(-0.2, -0.21, -0.19)
    assert finding.evidence["share"] == pytest.approx(0.04)


def test_where_a_part_of_the_model_is_frozen_it_is_a_note():
    only(check(0.2, 0.21, 0.19, trainable=5), "info")
    adapters = {"default": {"peft_type": "LORA"}}
    only(check(0.2, 0.21, 0.19, trainable=5, peft=adapters), "warning")


@pytest.mark.parametrize(
    "terms",
    [
        (0.5, 0.5, 0.5 + 2e-6),  # a constant, and rounding
        (2e-4, 4e-4, 3e-4),  # next to nothing
        (0.2, 0.25),  # too few
        (float("nan"), 0.2, 0.3),
    ],
)
def test_constants_traces_and_few_looks_are_healthy(terms):
    assert check(*terms) == ()
