"""Each evaluation adds the adapter to the base by hand, and nobody takes it out again.

The adapter is still on: training goes on from W + 2 D, and after the next evaluation
from W + 3 D.

Fix: take out what was added, or evaluate without a merge: the adapter acts by itself.
Source: radixark/miles#1091, jingyaogong/minimind#598.
"""

from typing import Any

import torch

from ftlab.faults.builders.hand_merges import put
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Fault

EVERY = 10


def build(fixed: bool) -> Case:
    """Build a LoRA run with a merged evaluation every so often."""
    model = lora()
    optimizer = adamw(model)
    train = plain_step(model, optimizer)

    @torch.no_grad()
    def evaluate(batch: Any) -> None:
        put(model)
        with model.disable_adapter():
            model(**batch)
        if fixed:
            put(model, sign=-1)

    def step(batch: Any) -> float:
        if case.losses and len(case.losses) % EVERY == 0:
            evaluate(batch)
        return train(batch)

    case = Case(model, optimizer, batches(), step)
    return case


FAULT = Fault(
    "merged-by-hand-and-still-on",
    "the loss jumps at each evaluation",
    code="ADP023",
    places=("param *base_layer.weight",),
    steps=16,
    evident=EVERY,
    also=("ADP007",),
    families=("llama", "gpt2", "neox", "own"),
)
