"""Label smoothing in a Trainer with a compute_loss of its own, which calls the other.

The model is a causal one that the Trainer knows, under LoRA: the labels are shifted.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, lora, trained


def build() -> Case:
    """Build the Trainer."""
    from transformers import Trainer

    class Scaled(Trainer):
        """Scales the loss."""

        def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
            """Compute the Trainer's own loss, and take half of it."""
            return super().compute_loss(*args, **kwargs) * 0.5

    return trained(lora(), kind=Scaled, max_steps=20, label_smoothing_factor=0.1)


HEALTHY = Healthy(
    "compute_loss is overridden, and smoothing is applied all the same",
    looks_like=("ENV001", "ENV005"),
    steps=20,
)
