"""What a model answers, and where it stops."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.executions.pairs import evaluating
from ftlab.executions.stations import ends_of, innermost
from ftlab.probes.behaviour.greedy import greedy, parted


@dataclass(frozen=True, slots=True)
class Answer:
    """A greedy answer.

    Attributes
    ----------
    tokens
        Of the answer, the one that ended it with them.
    ended
        Whether a token ended it, and not the limit.
    """

    tokens: tuple[int, ...]
    ended: bool


def answered(
    model: Any, prompts: Sequence[Sequence[int]], tokens: int
) -> tuple[Answer, ...]:
    """Answer prompts greedily; nothing for a model that does not generate."""
    if not hasattr(innermost(model), "generate"):
        return ()
    with evaluating(model), torch.no_grad():
        return tuple(_answer(model, prompt, tokens) for prompt in prompts)


def _answer(model: Any, prompt: Sequence[int], tokens: int) -> Answer:
    new = tuple(greedy(model, prompt, tokens))
    return Answer(new, bool(new) and new[-1] in ends_of(model))


def first_other(one: Answer, other: Answer) -> int:
    """Return at which token two answers part, -1 if they do not."""
    return parted(one.tokens, other.tokens)
