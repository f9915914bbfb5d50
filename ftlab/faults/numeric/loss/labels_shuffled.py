"""The labels of each sample are in another order than its tokens.

A collator that sorts, shuffles or shifts one and not the other. The loss begins far
above what guessing costs and then falls, steeply, as the model unlearns what it knew:
its curve looks better than that of a healthy run.

Fix: ``labels = input_ids.clone()``, with -100 where nothing is to be learnt.
Source: github.com/Mormolykos/trainproof, examples/gallery/bad_labels
"""

import functools
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, Variation, base, batches, current, lora
from ftlab.faults.builders.loops import plain_case


def build(fixed: bool) -> Case:
    """Put LoRA on a model that knows its language; turn the labels round."""
    model = base()
    model.load_state_dict(_taught(current()))
    model = lora(model)
    made = batches()
    if not fixed:
        made = [each | {"labels": each["labels"].flip(1)} for each in made]
    return plain_case(model, rows=made)


@functools.lru_cache(maxsize=4)
def _taught(_: Variation) -> dict[str, Any]:
    """Teach a base the rule of its language, once for the fault and its twin."""
    model = base()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for batch in batches(60, size=16, seed=7):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    return dict(model.state_dict())


FAULT = Fault(
    "the loss begins high and falls as never before",
    code="NUM026",
    places=("data labels",),
    steps=8,
    evident=2,
    families=("llama", "gpt2", "neox"),
)
