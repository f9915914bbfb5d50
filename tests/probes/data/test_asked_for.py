import pytest

from ftlab.probes.data.answers.answer_faults import answer_faults
from ftlab.probes.data.rows.formats import parts_of


def kinds(prompt, answer):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [fault.name for _, fault in answer_faults(row)]


@pytest.mark.parametrize(
    "prompt",
    [
        "List the names, one a line; nothing if there are none.",
        "List the names. Leave it empty if there are none.",
        "If the text has no date, answer with an empty string.\n\nText: a",
    ],
)
def test_an_empty_answer_may_be_asked_for(prompt):
    assert kinds(prompt, "") == []


def test_it_is_a_fault_elsewhere():
    assert kinds("What does the function do?", "") == ["empty-answer"]
