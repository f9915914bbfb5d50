"""A Trainer whose best checkpoint is the one with the greatest inverse perplexity.

The metric is computed from the loss and its name ends in one that falls as a model gets
better; it grows, and `greater_is_better` is True by default, as it should be.
"""

import math

from ftlab.faults.builders import Case, Healthy, chosen_by, lora


def build() -> Case:
    """Build a Trainer that chooses its checkpoint by a metric turned round."""
    return chosen_by("inverse_perplexity", lambda loss: math.exp(-loss), lora())


HEALTHY = Healthy(
    "greater_is_better is True for a perplexity",
    looks_like=("ADP058", "ADP035"),
    steps=8,
)
