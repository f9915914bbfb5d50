"""Accelerate is told to accumulate four micro-batches, and is never asked to.

``accelerator.accumulate`` is not around the step. Each micro-batch is an update, with a
loss that ``accelerator.backward`` has divided by four.

Fix: ``with accelerator.accumulate(model):`` around forward, backward and step.
Source: huggingface/transformers#26312 (accelerator.backward divides by itself).
"""

import contextlib
from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, lora, micro_batches

MICRO = 4


def build(fixed: bool) -> Case:
    """Build a loop of accelerate with four micro-batches per update."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=MICRO)
    accelerator.sync_gradients = True  # an earlier loop may have left it within a step
    bare = lora()
    model, optimizer = accelerator.prepare(bare, adamw(bare))

    def micro(batch: Any) -> float:
        gathered = accelerator.accumulate(model) if fixed else contextlib.nullcontext()
        with gathered:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        return float(loss.detach())

    def step(group: Any) -> float:
        return sum(micro(batch) for batch in group) / MICRO

    return Case(model, optimizer, micro_batches(MICRO), step)


FAULT = Fault(
    "gradient_accumulation_steps saves memory, and the loss is as noisy as without",
    code="ENV007",
    places=("config gradient_accumulation_steps",),
    steps=5,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
