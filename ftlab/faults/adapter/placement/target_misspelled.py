"""A name in ``target_modules`` is misspelled, and the others match.

Fix: this model's names.
Source: huggingface/peft#1959 (an incorrect target does not raise).
"""

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import (
    adamw,
    attention,
    base,
    batches,
    feed_forward,
    lora,
)
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build a LoRA model with two letters of a target swapped."""
    model = base()
    names = attention(model) + feed_forward(model)
    wrong = [names[-1][:-2] + names[-1][-1] + names[-1][-2]]
    model = lora(model, target_modules=names if fixed else names[:-1] + wrong)
    optimizer = adamw(model, lr=1e-2)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


FAULT = Fault(
    "target-misspelled",
    "one of the projections has no adapter",
    code="ADP012",
    places=("config target_modules",),
    builder=build,
    steps=6,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
