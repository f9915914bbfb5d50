"""What a model answers, and where it stops."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.executions.pairs import evaluating
from ftlab.executions.stations import ends_of, innermost


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
    ids = torch.tensor([list(prompt)], device=next(model.parameters()).device)
    made = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=tokens,
        do_sample=False,
        num_beams=1,
        pad_token_id=0,
        temperature=None,
        top_p=None,
        top_k=None,
    )
    new = tuple(made[0, len(prompt) :].tolist())
    return Answer(new, bool(new) and new[-1] in ends_of(model))


def first_other(one: Answer, other: Answer) -> int:
    """Return at which token two answers part, -1 if they do not."""
    for at, (a, b) in enumerate(zip(one.tokens, other.tokens, strict=False)):
        if a != b:
            return at
    shorter = min(len(one.tokens), len(other.tokens))
    return -1 if len(one.tokens) == len(other.tokens) else shorter
