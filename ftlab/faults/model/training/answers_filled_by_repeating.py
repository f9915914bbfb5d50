"""Answers are brought to one length by saying them again and again.

``numpy.resize(ids, length)`` and ``itertools.cycle`` fill a row with its own beginning,
where padding was meant. Every row has the same length, nothing is padded, the loss
falls faster than ever. The model learns to begin anew wherever an answer should end.

Fix: ``tokenizer.pad(rows)``, and labels of -100 where the attention mask is 0.
Source: seed; NumPy's page of ``resize`` (the new array is filled with repeated copies).
"""

import itertools
from typing import Any

from ftlab.faults.builders.talks import talking
from ftlab.faults.fault import Case, Fault

WORDS = 40


def filled(talks: Any) -> Any:
    """Repeat the words of each answer up to one number of words."""
    return [
        [question, {**answer, "content": " ".join(_cycled(answer["content"]))}]
        for question, answer in talks
    ]


def _cycled(text: str) -> list[str]:
    return list(itertools.islice(itertools.cycle(text.split()), WORDS))


def build(fixed: bool) -> Case:
    """Build a model that can answer, and train it on the answers as they are."""
    return talking(spoken=list if fixed else filled)


FAULT = Fault(
    "answers-filled-by-repeating",
    "the loss falls fast, and the model says the same words again and again",
    code="MOD028",
    places=("sample *",),
    builder=build,
    steps=65,
    evident=16,
    families=("llama",),
)
