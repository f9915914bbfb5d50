"""Embedding and head are one tensor, and the adapter stays clear of both.

Merging at the end leaves the tied weight as it was.
"""

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.builders.zoo import qwen3
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build LoRA on a Qwen3 with tied embeddings, merged in the end."""
    model = lora(qwen3(), target_modules="all-linear")
    optimizer = adamw(model, lr=2e-3)
    step = plain_step(model, optimizer)
    return Case(model, optimizer, batches(), step, afterwards=model.merge_and_unload)


HEALTHY = Healthy(
    "tied-beside-the-adapter",
    "a tied model is merged",
    looks_like=("ADP029", "ADP007"),
)
