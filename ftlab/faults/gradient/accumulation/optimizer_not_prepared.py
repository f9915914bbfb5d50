"""The optimizer is not given to ``accelerator.prepare``, and nothing accumulates.

Within ``accelerator.accumulate`` the prepared optimizer leaves out its step until the
last micro-batch. The bare one steps at each, with a loss that was divided already.

Fix: ``model, optimizer = accelerator.prepare(model, optimizer)``.
Source: QwenLM/Qwen3-TTS#326.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, lora, micro_batches

MICRO = 4


def build(fixed: bool) -> Case:
    """Build a loop of accelerate with four micro-batches per update."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=MICRO)
    bare = lora()
    optimizer = adamw(bare)
    model, prepared = accelerator.prepare(bare, optimizer)
    if fixed:
        optimizer = prepared

    def micro(batch: Any) -> float:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        return float(loss.detach())

    def step(group: Any) -> float:
        return sum(micro(batch) for batch in group) / MICRO

    return Case(model, optimizer, micro_batches(MICRO), step)


FAULT = Fault(
    "gradient accumulation changes neither memory nor noise, only the learning speed",
    code="GRD005",
    places=("call accelerator.prepare",),
    steps=3,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
    needs=("accelerate",),
)
