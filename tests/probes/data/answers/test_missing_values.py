"""Missing values that became answers, and values that are answers."""

import pytest

from ftlab.probes.data.answers.missing_values import MissingValues
from ftlab.probes.data.rows.formats import parts_of

LONG = "It is so, as everybody knows who has ever looked at it for an hour or two."


def found(answers, prompt="Why is it so?"):
    values = MissingValues()
    for at, answer in enumerate(answers):
        values.look(at, parts_of({"prompt": prompt, "completion": answer}))
    return values.found()


@pytest.mark.parametrize("value", ["nan", "NaN", "None", " null\n", "#N/A", "N/A"])
def test_a_value_among_long_answers_is_found(value):
    assert found([LONG] * 30 + [value]) == [30]


def test_many_of_them_are_found():
    assert len(found(["nan", LONG] * 30)) == 30


@pytest.mark.parametrize(
    ("answers", "prompt"),
    [
        (["Yes", "No"] * 20 + ["None"], "Why?"),
        ([LONG] * 10 + ["None"], "Why?"),
        ([LONG] * 30 + ["None"], "What does f() return?"),
        ([LONG] * 30 + ["nano"], "Why?"),
    ],
)
def test_it_may_be_an_answer(answers, prompt):
    assert found(answers, prompt) == []
