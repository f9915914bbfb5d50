"""DAT022."""

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.doubled_bos import ANSWERS, DoubledBos
from ftlab.rules.engine import Engine
from tests.rules.data.rows import (
    BOS,
    EOS,
    SPECIAL,
    TURN,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    run_of,
    text,
)

RULE = DoubledBos()
DOUBLE = [row([BOS, BOS, *text(n, 10 + n)]) for n in (4, 6)]


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_samples_begin_twice():
    (finding,) = check(RULE, DOUBLE)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "1 of sample 0")


def test_padding_in_front_is_no_beginning():
    padded = [
        row([0, 0, BOS, BOS, 5, 6 + n], mask=[0, 0, 1, 1, 1, 1]) for n in range(2)
    ]
    (finding,) = check(RULE, padded)
    assert finding.place == Place("token", "3 of sample 0")


def test_one_bos_is_right_and_two_in_the_middle_are_nothing():
    assert check(RULE, [row([BOS, 5, n]) for n in range(10, 14)]) == ()
    assert check(RULE, [row([5, BOS, BOS, n]) for n in range(10, 14)]) == ()


def test_less_than_half_of_the_samples_is_chance():
    assert check(RULE, [*DOUBLE, *(row([BOS, 5, n]) for n in range(10, 13))]) == ()


def test_where_bos_is_eos_an_empty_document_looks_the_same():
    (finding,) = check(RULE, DOUBLE, special=SPECIAL | {"stop": {BOS}})
    assert finding.severity is Severity.INFO


def answered(begin, *, behind=(BOS,), count=ANSWERS, skipped=0):
    """Samples whose prompt is not trained, with something where the answer begins."""
    prompt = [BOS, *text(5, begin)]
    ids = [*prompt, *behind, *text(4, begin + 30)]
    labels = [-100] * (len(prompt) + skipped) + ids[len(prompt) + skipped :]
    return [row(ids[: -n or None], labels[: -n or None]) for n in range(count)]


@pytest.mark.parametrize("skipped", [0, 1])
def test_a_second_bos_where_the_answer_begins(skipped):
    (finding,) = check(RULE, answered(10, skipped=skipped))
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "6 of sample 0")
    assert finding.evidence["reason"] == "before-answers"


@pytest.mark.parametrize(
    "settings",
    [
        {"behind": (EOS, BOS)},
        {"behind": (BOS, BOS)},
        {"behind": (TURN,)},
        {"count": ANSWERS - 1},
        {"skipped": 3},
    ],
)
def test_other_texts_behind_a_prompt_are_healthy(settings):
    assert check(RULE, answered(10, **settings)) == ()


def test_bos_between_documents_that_are_trained_whole_is_healthy():
    whole = [row([BOS, *text(5, n), BOS, *text(4, n)]) for n in range(10, 20)]
    assert check(RULE, whole) == ()
    positions = [*range(6), *range(5)]
    packed = [
        row([BOS, *text(5, n), BOS, *text(4, n)], None, None, positions)
        for n in range(9)
    ]
    assert compared(packed) == ()


def compared(rows):
    run = run_of(rows)
    run.append(Event("pairs", 0, 0.0, "", {"forms": []}))
    return Engine([RULE]).check(run).findings


def test_pairs_of_answers_have_no_labels_that_tell_where_they_begin():
    ids = [[BOS, *text(5, n), BOS, *text(4, 3 * n)] for n in range(10, 18)]
    (finding,) = compared([row(each, None) for each in ids])
    assert finding.place == Place("token", "6 of sample 0")
    turns = [[*each[:5], EOS, *each[6:]] for each in ids]
    assert compared([row(each, None) for each in turns]) == ()
