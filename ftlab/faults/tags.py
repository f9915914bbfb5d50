"""Texts whose words carry a class, and rows of them for a token classifier."""

from typing import Any

from ftlab.faults.chats import chats, padded_by_length, sized, tokenizer, trained_on
from ftlab.faults.fault import Case
from ftlab.faults.zoo import roberta

LONG = ("glimmerstones", "saltbreadboats", "noonlights")
"""Words that the vocabulary writes in several pieces."""


def tagged(per_word: bool) -> Case:
    """Build a Trainer that learns which words are long.

    Parameters
    ----------
    per_word
        Whether a row's labels are those of its words, one behind the other, or of its
        pieces: the first of each word, with -100 on all others.
    """
    made = tokenizer(adds_bos=True)
    made.cls_token = made.bos_token
    rows = [_row(made, words, per_word) for words in _texts()]
    model = sized(made, roberta, kind="TokenClassification")
    return trained_on(made, rows, padded_by_length(made), model=model)


def _texts() -> list[list[str]]:
    texts = [talk[0]["content"].rstrip("?").split() for talk in chats(words=(4, 9))]
    for number, words in enumerate(texts):
        words.insert(1 + number % 3, LONG[number % len(LONG)])
    return texts


def _row(made: Any, words: list[str], per_word: bool) -> dict[str, list[int]]:
    read = made([f" {word}" for word in words], is_split_into_words=True)
    ids, of = read["input_ids"], read.word_ids()
    classes = [int(word in LONG) for word in words]
    if per_word:
        labels = [*classes, *[-100] * (len(ids) - len(classes))]
        return {"input_ids": ids, "labels": labels}
    first = [word is not None and word != of[at - 1] for at, word in enumerate(of)]
    labels = [
        classes[word] if begins else -100
        for word, begins in zip(of, first, strict=True)
    ]
    return {"input_ids": ids, "labels": labels}
