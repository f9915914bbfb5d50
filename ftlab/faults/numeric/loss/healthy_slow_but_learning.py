"""A learning rate so small that the curve of the loss is flat.

Every tensor moves at every step; the loss moves with the batches much more than with
what is learnt. That is slow, and nothing is broken.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA with a learning rate of 1e-7."""
    model = lora()
    return plain_case(model, lr=1e-7)


HEALTHY = Healthy(
    "a loss that is flat to the eye",
    looks_like=("NUM003", "ADP001", "OPT013"),
)
