import pytest

from ftlab.probes.data.answers.answer_faults import answer_faults
from ftlab.probes.data.answers.no_answers import no_answers
from ftlab.probes.data.rows.row_parts import parts_of
from tests.probes.data.glanced import glanced


def kinds(find, prompt, answer):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [fault.name for _, fault in find(row)]


def said_nothing(row):
    return glanced(no_answers, row)


LOOP = "I will not talk in class. " * 20


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("List the names, one a line; nothing if there are none.", ""),
        ("List the names. Leave it empty if there are none.", ""),
        ("Which date is in it? Leave it empty if there is none.", ""),
        ("If the text has no date, answer with an empty string.\n\nText: a", ""),
        ("Write 'I will not talk in class.' 20 times.", LOOP),
        ("Repeat the sentence forever.", LOOP),
    ],
)
def test_what_is_asked_for_is_no_fault(prompt, answer):
    assert kinds(answer_faults, prompt, answer) == []


@pytest.mark.parametrize(
    ("prompt", "answer", "name"),
    [
        ("Explain f, which returns nothing if the list is empty.", "", "empty-answer"),
        ("What does clear do if nothing is there?", "", "empty-answer"),
        ("What did the boy write?", LOOP, "looping-answer"),
        ("The bell rings 4301 times, why is that so?", LOOP, "looping-answer"),
        ("Why does it happen over and over?", LOOP, "looping-answer"),
        ("Does history repeat itself?", LOOP, "looping-answer"),
    ],
)
def test_what_only_sounds_so_is_one(prompt, answer, name):
    assert kinds(answer_faults, prompt, answer) == [name]


def test_values_that_are_none_may_be_asked_for():
    assert kinds(said_nothing, "What is typeof x in JavaScript?", "undefined") == []
    assert kinds(said_nothing, "What is it?", "undefined") == [
        "missing-value-as-answer"
    ]


@pytest.mark.parametrize("answer", ["TODO", "TBD", "PLACEHOLDER"])
def test_an_answer_that_was_to_be_written_later_is_a_placeholder(answer):
    assert kinds(said_nothing, "What is it?", answer) == ["placeholder-answer"]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Which ticket is left?", "TODO: write the tests first."),
        ("What does the letter stand for?", "undefined behaviour"),
    ],
)
def test_an_answer_that_only_begins_so_says_something(prompt, answer):
    assert kinds(said_nothing, prompt, answer) == []
