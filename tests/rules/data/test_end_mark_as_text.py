"""DAT018."""

from dataclasses import replace

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.records.sample_facts import SeenSamples
from ftlab.records.spelled_mark import SpelledMark
from ftlab.rules.data.end_mark_as_text import EndMarkAsText
from ftlab.rules.engine import Engine
from tests.rules.data.rows import (
    EOS,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    run_of,
    text,
)

RULE = EndMarkAsText()
ROWS = [row(text(8, begin)) for begin in range(10, 18)]


def found(name, samples=8, ends=8, paired=False, rows=ROWS):
    run = run_of(rows)
    (event,) = [each for each in run.whole.events if each.kind == "rows"]
    places = tuple((0, n, 5, 8) for n in range(samples))
    mark = SpelledMark(name, samples, ends, paired, places)
    seen = replace(SeenSamples.from_json(0, event.detail), marks=(mark,))
    run.append(Event("rows", 0, 0.0, "", seen.as_json()))
    return Engine([RULE]).check(run).findings


def test_it_needs_samples():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_texts_end_with_a_mark_that_is_text():
    (finding,) = found("[FIN]")
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "5 of sample 0")
    assert finding.evidence["reason"] == "at-the-end"


def test_nine_of_ten_end_with_it():
    assert found("[FIN]", ends=7) == ()


def test_texts_without_marks_are_left_in_peace():
    assert check(RULE, ROWS) == ()


@pytest.mark.parametrize(
    "name",
    [
        "</s>",
        "<eos>",
        "<|im_end|>",
        "<|turn|>",
        "<end_of_turn>",
        "[EOS]",
        "<\uff5cfin\uff5c>",
    ],
)
def test_a_mark_whose_name_says_an_end_may_stand_within(name):
    (finding,) = found(name, samples=4, ends=0)
    assert finding.evidence["reason"] == "within"
    assert found(name, samples=3, ends=0) == ()
    assert found(name, samples=4, ends=0, paired=True) == ()


@pytest.mark.parametrize("name", ["<br>", "<s>", "</p>", "[end]", "<|-|>", "<vendor>"])
def test_other_strings_within_a_text_are_text(name):
    assert found(name, ends=0) == ()


def test_a_tag_that_is_opened_closes_a_text():
    assert found("</html>", paired=True) == ()
    assert len(found("</s>", paired=True)) == 1


def test_where_a_text_has_an_end_a_mark_is_text():
    assert found("</s>", rows=[*ROWS, row([*text(8, 30), EOS])]) == ()


def test_masked_words_are_no_texts_to_go_on():
    masked = row(text(8, 30), [-100] * 7 + [3])
    assert found("</s>", rows=[*ROWS, masked]) == ()


def test_rows_without_labels_are_texts_too():
    assert len(found("</s>", rows=[row(text(8, n), None) for n in range(10, 18)])) == 1
