"""Answers that repeat the one before them."""

import pytest

from ftlab.probes.data.answers.answer_faults import answer_faults
from ftlab.probes.data.rows.row_parts import parts_of

LONG = (
    "The bridge was built of stone in 1893, after the flood, and paid for by the town."
)


def found(second="Who paid?", last=LONG, first=LONG):
    talk = [("user", "When was it?"), ("assistant", first)]
    talk += [("user", second), ("assistant", last)]
    row = {"messages": [{"role": r, "content": text} for r, text in talk]}
    return [(part.where, fault.name) for part, fault in answer_faults(parts_of(row))]


def test_an_answer_that_repeats_the_one_before_is_found():
    assert found() == [("messages[3].content", "answer-said-again")]


@pytest.mark.parametrize(
    "second",
    ["When was it?", "Say it again.", "Please repeat that.", "Is that the same?"],
)
def test_it_may_be_asked_for_again(second):
    assert found(second) == []


def test_other_and_short_answers_are_left():
    assert found(last=LONG + " So.") == []
    assert (
        found(first="I cannot help with that.", last="I cannot help with that.") == []
    )


def test_what_is_said_again_behind_the_result_of_a_tool_is_left():
    said = [("user", "When?"), ("assistant", LONG), ("tool", "7"), ("assistant", LONG)]
    row = {"messages": [{"role": r, "content": text} for r, text in said]}
    names = [fault.name for _, fault in answer_faults(parts_of(row))]
    assert "answer-said-again" not in names
