"""Long answers in prompts: given away, or there by design."""

import pytest

from ftlab.probes.data.across.answer_leaks import AnswerLeaks
from ftlab.probes.data.rows.parts import Part


def answer(at):
    return f"The bridge has {at} arches, and was built of stone by {at + 3} people."


def leaks(*frames):
    seen = AnswerLeaks()
    for at in range(30):
        prompt = frames[at % len(frames)].format(answer(at), at=at)
        seen.look(at, [Part("prompt", -1, "user", prompt)], answer(at))
    return [(words, len(known.all_rows)) for words, known in seen.found()]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ("What of {at}?\n\nReference answer: {}", "answer: "),
        ('{{"question": "{at}", "expected": "{}"}}', 'expected": "'),
        ("Question {at}\nGold = {}\nWhat is it?", "Gold = "),
    ],
)
def test_an_answer_behind_words_that_promise_it_is_found(frame, words):
    assert leaks(frame) == [(words, 30)]
    assert leaks(frame, "What of {at}?") == [(words, 15)]


@pytest.mark.parametrize(
    "frames",
    [
        ["Context: {}"],
        ["Correct the text: {}"],
        ["Question {at}, by which answer: In its part {at} it reads: {}"],
        ["Answer: one.\nWhat of {at}? Text: {}"],
        ["Answer: {}", "Answer: none", "Answer: {at}"],
        ["What of {at}?"],
    ],
)
def test_is_silent_where_a_text_is_to_be_read_or_repeated(frames):
    assert leaks(*frames) == []


def test_one_answer_for_all_rows_is_not_given_away():
    seen = AnswerLeaks()
    asked = Part("prompt", -1, "user", f"1? Answer: {answer(1)}")
    for at in range(30):
        seen.look(at, [asked], answer(1))
    assert seen.found() == []
