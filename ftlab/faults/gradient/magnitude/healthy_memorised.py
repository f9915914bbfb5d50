"""One batch, learnt by heart.

The loss goes to nearly 0, and the gradients with it: they vanish because there is
nothing left to learn.
"""

from ftlab.faults.builders import Case, Healthy, batches, llama, plain_case


def build() -> Case:
    """Build full fine-tuning on one batch."""
    model = llama()
    return plain_case(model, lr=5e-3, rows=batches(1))


HEALTHY = Healthy(
    "gradients fall by orders of magnitude as the loss goes to 0",
    looks_like=("GRD001", "GRD002"),
)
