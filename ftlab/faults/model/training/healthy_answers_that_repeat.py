"""Answers that rightly say the same words again and again, such as a refrain.

The base answered without repetition; after some steps the answers repeat themselves as
much as those that are trained.
"""

import itertools
from typing import Any

from ftlab.faults.builders import Case, Healthy, loss_step
from ftlab.faults.builders.chats import chats
from ftlab.faults.builders.talks import next_token, padded, talking

WORDS = 40


def build() -> Case:
    """Build a model that can answer, and train it on refrains."""
    case = talking(next_token)
    case.batches = padded(case.tokenizer, [_refrain(each) for each in chats(8, (2, 4))])

    def loss(batch: Any) -> Any:
        return next_token(case.model(**batch).logits, batch)

    case.step = loss_step(loss, case.optimizer)
    return case


def _refrain(talk: Any) -> Any:
    question, answer = talk
    words = itertools.cycle(answer["content"].split())
    return [question, answer | {"content": " ".join(itertools.islice(words, WORDS))}]


HEALTHY = Healthy(
    "answers begin to repeat themselves, and do not end within 48 tokens",
    looks_like=("MOD028",),
    steps=41,
)
