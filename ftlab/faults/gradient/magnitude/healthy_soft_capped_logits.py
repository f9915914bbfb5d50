"""A Gemma 2, fully fine-tuned.

The weights of its norms start at exactly 0 (the layer multiplies by 1 + weight), its
embeddings are scaled by the root of the width, and tanh caps scores and logits.
"""

from ftlab.faults.builders import Case, Healthy, gemma, plain_case


def build() -> Case:
    """Build a Gemma 2 under AdamW."""
    model = gemma()
    return plain_case(model, weight_decay=0.01)


HEALTHY = Healthy(
    "weights of norms are 0, logits saturate at a cap",
    looks_like=("GRD001", "GRD003", "NUM002"),
)
