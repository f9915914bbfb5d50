"""Answers of one word that is none, where all others are long."""

import pytest

from ftlab.probes.data.across.reports import report_short_nones
from tests.probes.data.scanned import rows_with, scanned

LONG = "They look at the sun, and tell each other in the dark where they have been."


def reported(said, prompt="How do bees find their way?", others=LONG, count=98):
    rows = [{"prompt": f"{at}?", "completion": f"{others} {at}"} for at in range(count)]
    rows += [{"prompt": prompt, "completion": each} for each in said]
    scan = scanned(rows)
    report_short_nones(scan)
    names = ("missing-value-as-answer", "placeholder-answer")
    return [[row - count for row in rows_with(scan, name)] for name in names]


def test_what_says_nothing_is_found_among_long_answers():
    assert reported(["None", " null\n"]) == [[0, 1], []]
    assert reported(["N/A", "xxx"]) == [[0], [1]]


@pytest.mark.parametrize(
    "prompt",
    [
        "What does f() return?",
        "Name the exceptions, else say None.",
        "What is the opposite of all?\nAnswer N/A if there is none.",
        "What does the program print?",
        "Which keyword is it in Python?",
    ],
)
def test_it_may_be_asked_for(prompt):
    assert reported(["None", "N/A"], prompt) == [[], []]


def among_short(said, prompt="Who maintains it?", others="Team {}"):
    rows = [{"prompt": f"{at}?", "completion": others.format(at)} for at in range(95)]
    rows += [{"prompt": f"{prompt} {at}", "completion": w} for at, w in enumerate(said)]
    scan = scanned(rows)
    report_short_nones(scan)
    sure = scan.nones.among_short(scan.labels)
    return [row - 95 for row in rows_with(scan, "missing-value-as-answer") if sure]


def test_of_short_answers_what_programs_alone_write_is_found():
    said = ["nan", "NaN", "undefined", "<NA>", "NA", "None"]
    assert among_short(said) == [0, 1, 3]


def test_of_short_answers_a_value_that_may_be_right_is_none():
    assert among_short(["nan"] * 2) == []
    assert among_short(["nan"] * 9, "What is the pinyin of this letter?") == []
    assert among_short(["NaN"] * 9, "What does it print?") == []
    assert among_short(["nan"] * 9, "What is 0 / 0?") == []
    assert among_short(["nan"] * 30, "Which language is it?", "yue") == []  # Min Nan


def test_of_short_answers_it_may_be_one():
    assert reported(["None"], others="Three") == [[], []]
    assert reported(["None"] * 20) == [[], []]
    assert reported(["None"], count=9) == [[], []]
    assert reported(["Nothing", "No", "X", "None of them"]) == [[], []]


@pytest.mark.parametrize("error", ["#N/A", "#REF!", "#VALUE!", "#DIV/0!"])
def test_errors_of_spreadsheets_are_found_among_short_answers(error):
    assert among_short([error] * 9) == list(range(9))
    assert among_short([error] * 9, "What does the spreadsheet show?") == []
    assert among_short([error] * 9, "What is =VLOOKUP(1, A:B, 2)?") == []
