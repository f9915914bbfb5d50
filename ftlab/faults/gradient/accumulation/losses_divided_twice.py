"""The loss is divided by the micro-batches, and accelerate divides it once more.

``accelerator.backward`` divides by ``gradient_accumulation_steps``. With a division of
one's own each update is as if the learning rate were four times smaller.

Fix: ``accelerator.backward(loss)``.
Source: huggingface/accelerate#3533, huggingface/transformers#26312.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, lora, micro_batches, trainable

MICRO = 4


def build(fixed: bool) -> Case:
    """Build a loop of accelerate with four micro-batches per update."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=MICRO)
    bare = lora()
    model, optimizer = accelerator.prepare(bare, torch.optim.SGD(trainable(bare), 1.0))

    def micro(batch: Any) -> float:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss if fixed else loss / MICRO)
            optimizer.step()
            optimizer.zero_grad()
        return float(loss.detach())

    def step(group: Any) -> float:
        return sum(micro(batch) for batch in group) / MICRO

    return Case(model, optimizer, micro_batches(MICRO), step)


FAULT = Fault(
    "the more micro-batches, the slower it learns",
    code="GRD017",
    places=("call accelerator.backward",),
    steps=5,
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
    needs=("accelerate",),
)
