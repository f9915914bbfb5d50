import math

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.numeric.loss_worse_than_guessing import STREAK, LossWorseThanGuessing
from tests.runs import RunBuilder, found_by, only, report_by

WORDS = 1000
CHANCE = math.log(WORDS)


def found(losses, entropy=2.0, adapter=True, labels=100.0, **fields):
    builder = RunBuilder()
    if adapter:
        builder.lora("layers.0")
    else:
        builder.tensor("model.layers.0.weight")
    for step, loss in enumerate(losses):
        values = {"labels": labels} if labels else {}
        if step % 16 == 0:
            values |= {"vocabulary": float(WORDS), "entropy": entropy}
        builder.step({"grad_l2": 1.0}, loss=float(loss), values=values, **fields)
    report = report_by(LossWorseThanGuessing(), builder.run)
    return [each.evidence["reason"] for each in report.findings]


def test_a_model_that_is_sure_and_wrong_at_the_start_is_found():
    assert found([1.5 * CHANCE] * 8) == ["from-the-start"]


@pytest.mark.parametrize(
    ("inputs", "reason", "severity"),
    [
        (0.3 * CHANCE, "not-of-the-inputs", "WARNING"),
        (1.5 * CHANCE, "from-the-start", "INFO"),
    ],
)
def test_what_the_inputs_cost_tells_bad_labels_from_a_bad_model(
    inputs, reason, severity
):
    builder = RunBuilder()
    builder.lora("layers.0")
    builder.run.append(NameRecord(7, "losses", "cross_entropy 0", "module", ""))
    for step in range(4):
        columns = {"input_loss": np.array([inputs], np.float32)}
        builder.run.append(Block("losses", step, np.array([7], np.int32), columns))
        values = {"labels": 9.0, "vocabulary": float(WORDS), "entropy": 1.0}
        builder.step({"grad_l2": 1.0}, loss=1.5 * CHANCE, values=values)
    finding = only(found_by(LossWorseThanGuessing(), builder.run), reason=reason)
    assert finding.severity.name == severity


@pytest.mark.parametrize(
    ("terms", "cost", "reasons"),
    [
        (1, 1.9 * CHANCE, ["from-the-start"]),
        (1, 0.9 * CHANCE, []),
        (0, 1.9 * CHANCE, []),  # it may be two losses that were not divided
        (2, 1.9 * CHANCE, []),  # and which of two terms it is nobody knows
    ],
)
def test_accumulated_losses_are_told_by_their_cross_entropy(terms, cost, reasons):
    builder = RunBuilder()
    builder.lora("layers.0")
    for term in range(terms):
        builder.run.append(NameRecord(term, "losses", f"{term}", "module", ""))
    for step in range(4):
        ids = np.arange(terms, dtype=np.int32)
        columns = {"token_loss": np.full(terms, cost, np.float32)}
        if terms:
            builder.run.append(Block("losses", step, ids, columns))
        values = {"labels": 9.0, "vocabulary": float(WORDS), "entropy": 1.0}
        fields = {"loss": 1.9 * CHANCE, "micro_batches": 2}
        builder.step({"grad_l2": 1.0}, values=values, **fields)
    findings = found_by(LossWorseThanGuessing(), builder.run)
    assert [each.evidence["reason"] for each in findings] == reasons


def test_what_becomes_worse_than_guessing_is_found_after_a_while():
    losses = [2.0] * 8 + [3 * CHANCE] * STREAK
    assert found(losses) == ["left-behind"]
    assert found(losses[:-1]) == []


@pytest.mark.parametrize("factor", [0.3, 1.0, 1.05])
def test_losses_up_to_those_of_guessing_are_quiet(factor):
    assert not found([factor * CHANCE] * 40)


def test_a_spike_is_quiet():
    assert not found([2.0] * 8 + [3 * CHANCE] * 4 + [2.0] * 8)


def test_a_sum_of_losses_over_an_even_softmax_is_quiet():
    assert not found([2 * CHANCE] * 40, entropy=0.99 * CHANCE)


def test_what_is_trained_does_not_matter():
    assert found([1.5 * CHANCE] * 40, adapter=False) == ["from-the-start"]


def test_summed_micro_batches_are_judged_by_their_mean():
    assert not found([2 * CHANCE] * 40, micro_batches=4)


def test_a_loss_without_labels_is_not_checked():
    builder = RunBuilder()
    builder.step(loss=9.0, values={"vocabulary": 1000.0, "entropy": 1.0})
    (entry,) = report_by(LossWorseThanGuessing(), builder.run).not_checked
    assert "labels" in entry.reason


def test_a_run_that_goes_on_from_a_checkpoint_has_no_start():
    builder = RunBuilder()
    builder.lora("layers.0")
    builder.step_number = 500
    for _ in range(8):
        values = {"labels": 9.0, "vocabulary": 1000.0, "entropy": 1.0}
        builder.step({"grad_l2": 1.0}, loss=9 * CHANCE, values=values)
    report = report_by(LossWorseThanGuessing(), builder.run)
    assert not np.any(report.findings)
