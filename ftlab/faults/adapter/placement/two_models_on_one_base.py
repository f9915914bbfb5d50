"""Two models for two tasks are built on one base, and are one model.

``get_peft_model`` changes the base in place. The second call finds the layers of the
first, with the same adapter name, and takes them over: both optimizers hold the same
tensors, and each task undoes what the other has learned.

Fix: load the base once for each model, or give one model two named adapters.
Source: huggingface/peft#854, #940, #1523.
"""

import warnings
from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, base, batches, lora, plain_step


def build(fixed: bool) -> Case:
    """Train a model on sequences, and another one on the same ones backwards."""
    shared = base()
    first = lora(shared)
    with warnings.catch_warnings(action="ignore"):
        second = lora(base() if fixed else shared)
    optimizer = adamw(first)
    train = plain_step(first, optimizer)
    train_other = plain_step(second, adamw(second))

    def step(batch: Any) -> float:
        loss = train(batch)
        turned = batch["input_ids"].flip(1)
        train_other(batch | {"input_ids": turned, "labels": turned})
        return loss

    return Case(first, optimizer, batches(), step)


FAULT = Fault(
    "two models that are trained side by side spoil one another",
    code="ADP014",
    places=("param *lora_?.*",),
    evident=4,
    families=("llama", "gpt2", "neox", "own"),
)
