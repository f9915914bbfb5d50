"""LoRA on a Mamba, which has no attention.

Its own parameters are decay rates and a skip, of which none is a matrix; they stay
frozen, for no adapter's file would hold them. The adapter sits on projections of two
sizes. (Not on ``dt_proj``: the model reads its
weight and never calls it, so an adapter there would learn nothing.)
"""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.loops import plain_step
from ftlab.faults.tiny import adamw, batches, lora
from ftlab.faults.zoo import mamba


def build() -> Case:
    """Build LoRA on a Mamba's projections."""
    model = lora(mamba(), target_modules=["in_proj", "x_proj"])
    optimizer = adamw(model, lr=2e-3)
    return Case(model, optimizer, batches(length=8), plain_step(model, optimizer))


HEALTHY = Healthy(
    "state-space",
    "no attention, and parameters that are no matrices",
    looks_like=("GRD001", "GRD003", "ADP001"),
    builder=build,
)
