"""MOD027: answers that do not end, and ends that get no likelier."""

import pytest

from ftlab.records.event import Event
from ftlab.rules.model.answers_never_end import AnswersNeverEnd
from tests.runs import RunBuilder, only, report_by


def asked(
    builder, step, end, *, ended=False, repetition=0.0, plain=0.0, limit=32, trained=0.0
):
    answer = {
        "prompt": "who?",
        "text": "nobody",
        "end": end,
        "ended": ended,
        "limit": limit,
        "repetition": repetition,
        "plain_repetition": plain,
    }
    detail = {"answers": [answer, answer], "seconds": 0.1, "trained": trained}
    builder.run.append(Event("answers", step, 0.0, "", detail))


def check(*ends, ended=(), labels=20.0, losses=(4.0, 2.0), limit=32):
    builder = RunBuilder()
    for step, end in enumerate(ends):
        loss = losses[min(step, len(losses) - 1)]
        values = {"labels": 8 * labels, "batch_size": 8.0}
        builder.step(loss=loss, values=values)
        asked(builder, step, end, ended=step in ended, limit=limit)
    report = report_by(AnswersNeverEnd(), builder.run)
    assert report.not_checked == ()
    return report.findings


def test_an_end_that_is_less_likely_than_it_was():
    found = only(check(1e-4, 2e-3, 1e-3, 1e-3), "warning", "config eos_token_id")
    assert (found.first_step, found.last_step) == (2, 3)
    assert "none of 2 answers ends within 32 tokens" in found.message
    assert "at most 0.001 at any token, 0.002 before" in found.message


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        ((2e-3, 1e-3), 0),
        ((1e-4, 1e-3, 2e-3, 3e-3), 0),
        ((1e-4, 2e-3, 1.79e-3, 1e-3), 1),
        ((1e-4, 2e-3, 1.81e-3, 1e-3), 0),
        ((0.5, 0.5, 0.0099, 0.0099), 1),
        ((0.5, 0.5, 0.0101, 0.0099), 0),
    ],
)
def test_what_is_likely_or_gets_likelier_is_being_learned(ends, found):
    assert len(check(*ends)) == found


def test_one_answer_that_ends_is_enough():
    assert check(1e-4, 2e-3, 1e-3, 1e-3, ended=(3,)) == ()
    assert len(check(1e-4, 2e-3, 1e-3, 1e-3, ended=(0,))) == 1


@pytest.mark.parametrize(("labels", "found"), [(24, 1), (25, 0)])
def test_rows_must_be_shorter_than_answers(labels, found):
    assert len(check(1e-4, 2e-3, 1e-3, 1e-3, labels=labels)) == found


def test_a_model_that_learns_nothing_is_another_matter():
    assert check(1e-4, 2e-3, 1e-3, 1e-3, losses=(4.0, 3.3)) == ()


def test_an_end_whose_probability_is_not_known_proves_nothing():
    assert check(None, None, None, None) == ()
    assert check(float("nan"), 1e-3, 1e-3, 1e-3) == ()
