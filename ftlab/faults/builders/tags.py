"""Texts whose words carry a class, and rows of them for a token classifier."""

from typing import Any, Literal

from ftlab.faults.builders.chats import chats, sized, tokenizer, trained_on
from ftlab.faults.builders.zoo import roberta
from ftlab.faults.fault import Case

LONG = ("glimmerstones", "saltbreadboats", "noonlights")
"""Words that the vocabulary writes in several pieces."""


def tagged(per: Literal["word", "piece", "token"]) -> Case:
    """Build a Trainer that learns which words are long.

    Parameters
    ----------
    per
        What has a label: each word, one behind the other; each piece of a word, without
        the token in front; or each token, the first piece of a word with its class, and
        -100 on all others.
    """
    made = tokenizer(adds_bos=True, ends=True)
    made.cls_token = made.bos_token
    rows = [_row(made, words, per) for words in _texts()]
    model = sized(made, roberta, kind="TokenClassification")
    return trained_on(made, rows, model=model)


def _texts() -> list[list[str]]:
    texts = [talk[0]["content"].rstrip("?").split() for talk in chats(words=(4, 9))]
    for number, words in enumerate(texts):
        words.insert(1 + number % 3, LONG[number % len(LONG)])
    return texts


def _row(made: Any, words: list[str], per: str) -> dict[str, list[int]]:
    read = made([f" {word}" for word in words], is_split_into_words=True)
    ids, of = read["input_ids"], read.word_ids()
    classes = [int(word in LONG) for word in words]
    if per != "token":
        told = classes if per == "word" else [classes[w] for w in of if w is not None]
        labels = [*told, *[-100] * (len(ids) - len(told))]
        return {"input_ids": ids, "labels": labels}
    first = [word is not None and word != of[at - 1] for at, word in enumerate(of)]
    labels = [
        classes[word] if begins else -100
        for word, begins in zip(of, first, strict=True)
    ]
    return {"input_ids": ids, "labels": labels}
