"""A Mamba, which has no attention, fully fine-tuned.

Among its parameters are decay rates and a skip, of which none is a matrix like the
others. (LoRA on its ``dt_proj`` would learn nothing: the model reads the weight of that
layer and never calls it.)
"""

from ftlab.faults.builders import Case, Healthy, batches, mamba, plain_case


def build() -> Case:
    """Build a Mamba on short rows."""
    model = mamba()
    return plain_case(model, lr=2e-3, rows=batches(length=8))


HEALTHY = Healthy(
    "no attention, and parameters that are decay rates",
    looks_like=("GRD001", "GRD003", "NUM002"),
)
