"""How a server may have read a prompt, and which tokens its answer has."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from ftlab.experiments.deployment.client import Reply, Told
from ftlab.experiments.deployment.outside import Seen
from ftlab.experiments.deployment.trip import Prompt


class Reading(NamedTuple):
    """A way to read a prompt.

    Attributes
    ----------
    words
        What is wrong with it: ``"BOS twice"``; ``""`` for the live tokenizer's.
    ids
        Its tokens.
    """

    words: str
    ids: tuple[int, ...]


def readings(tokenizer: Any, prompt: Prompt) -> Iterator[Reading]:
    """Yield the live reading, and those that go wrong."""
    ids, bos = prompt.ids, getattr(tokenizer, "bos_token_id", None)
    yield Reading("", ids)
    if bos is not None and ids[:1] == (bos,):
        yield Reading("BOS twice", (bos, *ids))
        yield Reading("no BOS", ids[1:])
    elif bos is not None:
        yield Reading("a BOS that training had not", (bos, *ids))
    if not isinstance(prompt.given, str):
        text = tokenizer.apply_chat_template(
            [dict(each) for each in prompt.given],
            tokenize=False,
            add_generation_prompt=False,
        )
        bare = tuple(tokenizer(text, add_special_tokens=False)["input_ids"])
        if bare != ids:
            yield Reading("no generation prompt", bare)


class Vocabulary:
    """Finds the token that a server writes as text.

    Parameters
    ----------
    tokenizer
        The live one.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._pieces: dict[str, set[int]] = defaultdict(set)
        self._texts: dict[str, set[int]] = defaultdict(set)
        ids = list(range(len(tokenizer)))
        pieces = tokenizer.convert_ids_to_tokens(ids)
        texts = tokenizer.batch_decode([[each] for each in ids])
        for token, piece, text in zip(ids, pieces, texts, strict=True):
            if piece is not None:
                self._pieces[piece.replace("▁", " ")].add(token)
                self._texts[text].add(token)

    def find(self, token: Told) -> int | None:
        """Return its id; ``None`` where none or several are written like that."""
        if token.id is not None:
            return token.id
        for known in (self._texts, self._pieces):
            if len(found := known.get(token.text, ())) == 1:
                return next(iter(found))
        return None


def answer_ids(vocabulary: Vocabulary, reply: Reply) -> tuple[int, ...]:
    """Return the tokens of an answer, as far as they are known."""
    if reply.ids:
        return reply.ids
    found: list[int] = []
    for step in reply.steps:
        token = vocabulary.find(step.token)
        if token is None:
            break
        found.append(token)
    return tuple(found)


def seen_in(
    vocabulary: Vocabulary, reply: Reply, row: int, prompt: Sequence[int]
) -> list[Seen]:
    """Return the log-probabilities of an answer whose tokens are known."""
    known = len(answer_ids(vocabulary, reply))
    found = []
    for at, step in enumerate(reply.steps[: known + 1]):
        pairs = [(vocabulary.find(token), value) for token, value in step.top.items()]
        told = [(token, value) for token, value in pairs if token is not None]
        if told:
            ids, values = zip(*told, strict=True)
            position = len(prompt) + at - 1
            found.append(Seen(row, position, torch.tensor(ids), torch.tensor(values)))
    return found
