"""DAT055."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.marker_in_trained_text import MarkerInTrainedText
from tests.rules.data.rows import (
    EOS,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = MarkerInTrainedText()
MARK = [90, 91, 92]


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def answered(begin, within=(), mark=MARK):
    question = text(4, begin)
    answer = [*text(3, begin + 5), *within, *text(2, begin + 9), EOS]
    ids = [*question, *mark, *answer]
    start = len(question) + len(mark)
    return row(ids, [-100] * start + ids[start:])


PLAIN = [answered(begin) for begin in (10, 20, 30, 40)]


def test_a_marker_within_what_is_trained_is_named():
    (finding,) = check(RULE, [*PLAIN, answered(50, MARK)], pieces={90: "###"})
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "10 of sample 4")
    assert "'###'" in finding.message
    assert finding.evidence["samples"] == 1


def test_part_of_a_marker_is_met_in_any_text():
    assert check(RULE, [*PLAIN, answered(50, MARK[1:])]) == ()


def test_one_token_is_no_marker():
    marks = {n: [n + 70, 92] for n in (10, 20, 30, 40, 50)}
    rows = [answered(n, mark, mark=mark) for n, mark in marks.items()]
    assert check(RULE, rows) == ()


def test_prompts_that_close_in_several_ways_have_no_marker():
    rows = [answered(n, [n, n + 1], mark=[n, n + 1]) for n in (10, 20, 30, 40)]
    assert check(RULE, rows) == ()


def test_few_samples_prove_nothing():
    assert check(RULE, [*PLAIN[:2], answered(50, MARK)]) == ()


def test_labels_turn_by_turn_leave_markers_out():
    rows = []
    for begin in (10, 20, 30, 40):
        turn = [*text(4, begin), *MARK, *text(3, begin + 4), EOS]
        own = [-100] * 7 + turn[7:]
        rows.append(row(turn * 2, own * 2))
    assert check(RULE, rows) == ()


def test_texts_that_are_trained_whole_have_no_border():
    rows = [
        row([*text(4, n), *MARK, *text(3, n), *MARK, EOS]) for n in (10, 20, 30, 40)
    ]
    assert check(RULE, rows) == ()
