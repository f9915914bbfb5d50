"""A second stage: LoKr that has been trained goes on with a new optimizer.

Its layers are far from those of the base at the first step that is watched.
"""

from ftlab.faults.builders import Case, Healthy, adamw, batches, plain_case, plain_step
from ftlab.faults.builders.methods import tuned


def build() -> Case:
    """Train LoKr, then begin a second stage."""
    model = tuned("LoKrConfig", r=4, alpha=8)
    before = plain_step(model, adamw(model, lr=5e-3))
    for batch in batches(seed=1):
        before(batch)
    model.zero_grad()
    return plain_case(model)


HEALTHY = Healthy(
    "a LoKr adapter that changes the model at the first step, because it was taught",
    looks_like=("ADP027", "ADP032"),
    steps=20,
)
