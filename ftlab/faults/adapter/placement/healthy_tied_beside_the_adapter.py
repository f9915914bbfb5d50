"""Embedding and head are one tensor, and the adapter stays clear of both.

Merging at the end leaves the tied weight as it was.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case, qwen3


def build() -> Case:
    """Build LoRA on a Qwen3 with tied embeddings, merged in the end."""
    model = lora(qwen3(), target_modules="all-linear")
    return plain_case(model, lr=2e-3, afterwards=model.merge_and_unload)


HEALTHY = Healthy(
    "a tied model is merged",
    looks_like=("ADP029", "ADP007"),
)
