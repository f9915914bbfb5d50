"""LoRA, and a few new tokens of which alone the embedding is trained."""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA with three rows of the embedding trained."""
    model = lora(trainable_token_indices={"embed_tokens": [10, 11, 12]})
    return plain_case(model)


HEALTHY = Healthy(
    "the embedding is frozen, a few rows of it are trained elsewhere",
    looks_like=("GRD003", "OPT002", "GRD001", "ADP020", "ADP041"),
)
