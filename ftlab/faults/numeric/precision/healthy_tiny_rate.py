"""A learning rate of 1e-6, on purpose: the model shall hardly move.

Within 200 steps the loss does not fall visibly; each weight moves all the same.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA at a learning rate of 1e-6."""
    model = lora()
    return plain_case(model, lr=1e-6, weight_decay=0.01)


HEALTHY = Healthy(
    "the loss is flat for 200 steps",
    looks_like=("NUM002", "ADP001", "GRD001"),
)
