"""Micro-batches are counted in the loop, and by accelerate as well.

``optimizer.step()`` stands under ``if i % 4 == 0`` within ``accumulate``, where
accelerate is ready at ``(i + 1) % 4 == 0``: the prepared optimizer leaves out every
step that it is asked for. The loss of each batch differs, and nothing is learnt.

Fix: call ``optimizer.step()`` always; the prepared optimizer decides.
Source: what ``AcceleratedOptimizer.step`` does; asked in huggingface/diffusers#10855.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, lora

MICRO = 4


def build(fixed: bool) -> Case:
    """Train LoRA with accelerate and, or not, a counter of one's own."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=MICRO)
    bare = lora()
    model, optimizer = accelerator.prepare(bare, adamw(bare))
    count = 0

    def step(batch: Any) -> float:
        nonlocal count
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            if fixed or count % MICRO == 0:
                optimizer.step()
                optimizer.zero_grad()
        count += 1
        return float(loss.detach())

    return Case(model, optimizer, batches(size=2), step)


FAULT = Fault(
    "with accumulation the loss stays where it was, without it falls",
    code="GRD019",
    places=("call optimizer.step",),
    steps=24,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
