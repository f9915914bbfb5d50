"""Shingles against a second, dumber way to cut up texts."""

import random
import re

from ftlab.probes.data.across.shingles import WORDS, shingles

WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W_\u3040-\u30ff\u4e00-\u9fff]+")


def cut(text):
    words = WORD.findall(text.lower())
    if len(words) < WORDS:
        return [tuple(words)] if words else []
    return [tuple(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)]


def texts(count):
    numbers = random.Random(0)
    words = [
        "the",
        "Sky",
        "ÄRGER",
        "x2",
        "日本",
        "語",
        "is",
        "blue",
        "東京都",
        "привет",
    ]
    marks = [" ", ", ", "\n", " - ", "_"]
    for _ in range(count):
        size = numbers.randrange(14)
        yield "".join(
            numbers.choice(words) + numbers.choice(marks) for _ in range(size)
        )


def test_equal_numbers_are_equal_words():
    made = list(texts(300))
    numbers, borders = shingles(made)
    assert len(borders) == len(made) + 1
    by_words, by_number = {}, {}
    for at, text in enumerate(made):
        own = numbers[borders[at] : borders[at + 1]].tolist()
        expected = cut(text)
        assert len(own) == len(expected)
        for number, words in zip(own, expected, strict=True):
            assert by_words.setdefault(words, number) == number
            assert by_number.setdefault(number, words) == words


def test_neighbours_do_not_matter():
    made = list(texts(40))
    numbers, borders = shingles(made)
    for at, text in enumerate(made):
        alone, _ = shingles([text])
        assert alone.tolist() == numbers[borders[at] : borders[at + 1]].tolist()


def test_nothing_has_no_shingles():
    assert shingles(["", " \n", "---"])[1].tolist() == [0, 0, 0, 0]
    assert shingles([])[1].tolist() == [0]
