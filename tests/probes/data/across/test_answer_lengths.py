"""Answers that were cut at one length, and long ones that were not."""

import random

import pytest

from ftlab.probes.data.across.answer_lengths import SHORTEST, AnswerLengths


def found(answers):
    """Give answers that are as many words, and as many tokens as they say."""
    lengths = AnswerLengths()
    for number, (text, length) in enumerate(answers):
        lengths.add(number, text, length)
    return lengths.found()


def cut_at(texts):
    return found((text, len(text) * 2 // 7) for text in texts)


def sentences(count=600, seed=0):
    """Yield answers of some sentences, each of other words."""
    numbers = random.Random(seed)
    for _ in range(count):
        said = (
            " ".join("a" * numbers.randint(2, 9) for _ in range(numbers.randint(5, 12)))
            for _ in range(numbers.randint(1, 9))
        )
        yield ". ".join(said) + "."


def generated(limit, count=1000, seed=0, mean=250):
    """Yield answers that end by themselves, or are cut where the limit is."""
    numbers = random.Random(seed)
    for _ in range(count):
        size = int(numbers.expovariate(1 / mean)) + 5
        yield ("It goes", limit) if size >= limit else ("It ends.", size)


def test_answers_cut_by_a_limit_are_found():
    answers = list(generated(512))
    cut = [at for at, (_, size) in enumerate(answers) if size == 512]
    told = found(answers)
    near = sum(507 <= size < 512 for _, size in answers)
    assert (told.length, told.answers, told.broken) == (512, len(cut) + near, len(cut))
    assert list(told.rows) == cut


def test_a_few_tokens_more_or_less_do_not_matter():
    numbers = random.Random(0)
    answers = [
        (text, size - numbers.randrange(4) if size == 512 else size)
        for text, size in generated(512)
    ]
    assert found(answers).answers == sum(size > 506 for _, size in answers)


@pytest.mark.parametrize(
    "answers",
    [
        list(generated(10_000)),
        [(text if size < 512 else "It ends.", size) for text, size in generated(512)],
        [("label", 3)] * 100,
        [("chunk", 512)] * 100,
        [("word", size) for _, size in generated(512)],
        [("It ends.", 40)] * 50 + [("word", SHORTEST["tokens"] - 1)] * 50,
        [("It goes", size) for _, size in generated(900) if size < 400],
        [
            ("It goes" if size > 400 else "It ends.", size)
            for _, size in generated(10_000, count=8000)
            if size < 512
        ],
        [],
    ],
)
def test_is_silent_on_lengths_that_nobody_cut(answers):
    assert found(answers) is None


def test_answers_cut_at_a_number_of_characters_are_found():
    texts = [text[:200] for text in sentences()]
    cut = cut_at(texts)
    broken = [
        at for at, text in enumerate(texts) if text[-1] != "." and len(text) == 200
    ]
    assert (cut.unit, cut.length) == ("characters", 200)
    assert set(cut.rows) <= set(broken)
    assert len(cut.rows) > 0.9 * len(broken)


def test_answers_cut_behind_a_number_of_words_are_found():
    texts = [" ".join(text.split()[:30]) for text in sentences()]
    cut = cut_at(texts)
    assert (cut.unit, cut.length) == ("words", 30)
    assert all(len(texts[row].split()) == 30 for row in cut.rows)


@pytest.mark.parametrize(
    "texts",
    [
        list(sentences()),
        [text.rstrip(".") for text in sentences()],
        [text if len(text) < 200 else text[:199] + "." for text in sentences()],
        ["a list of words " * 10] * 100,
        [text[:40] for text in sentences()],
        [f"{text[:20]} {at}" for at, text in enumerate(sentences())],
    ],
    ids=["whole", "no full stops", "made to fit", "one length", "short", "numbered"],
)
def test_is_silent_on_answers_that_nobody_cut(texts):
    assert cut_at(texts) is None


@pytest.mark.parametrize("limit", [80, 137, 400])
def test_some_answers_that_were_cut_are_found_among_longer_ones(limit):
    texts = [
        text[:limit] if at % 3 == 0 else text for at, text in enumerate(sentences())
    ]
    cut = [at for at, text in enumerate(texts) if len(text) == limit and at % 3 == 0]
    told = cut_at(texts)
    assert (told.unit, told.length) == ("characters", limit)
    assert set(told.rows) <= {at for at, text in enumerate(texts) if text[-1] != "."}
    assert len(set(told.rows) & set(cut)) > 0.7 * len(cut)


def test_some_answers_that_were_cut_behind_a_number_of_words_are_found():
    texts = [
        " ".join(text.split()[:30]) if at % 3 == 0 else text
        for at, text in enumerate(sentences())
    ]
    assert cut_at(texts).unit == "words"


def mixed(others):
    """Put other answers among sentences, one in three."""
    return [others(at) if at % 3 == 0 else text for at, text in enumerate(sentences())]


@pytest.mark.parametrize(
    "texts",
    [
        mixed(lambda at: f"It is said {at % 2} times: " + "so it is " * 9),
        mixed(lambda at: " ".join(f"{at * n % 1000:03}" for n in range(1, 26))),
        mixed(lambda at: f"{at:0100}"),
        mixed(lambda at: "x" * (at % 50) + " y" * (50 - at % 50) + "." * (at % 50)),
        [text.rstrip(".") for text in mixed(lambda at: list(sentences())[at][:80])],
        [text[:80] if at % 3 else text for at, text in enumerate(sentences())],
    ],
    ids=["one text", "codes", "a number", "whole", "no full stops", "mostly"],
)
def test_is_silent_on_a_length_that_is_a_form(texts):
    assert cut_at(texts) is None
