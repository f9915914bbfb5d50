"""FourierFT as it comes: its coefficients are random at the start, by its own default.

Only a small part of the spectrum is trained, and it is drawn, as its authors have it.
"""

from ftlab.faults.builders import Case, Healthy, plain_case
from ftlab.faults.builders.methods import tuned


def build() -> Case:
    """Build FourierFT with its own start."""
    model = tuned("FourierFTConfig", n_frequency=64, scaling=20.0)
    return plain_case(model)


HEALTHY = Healthy(
    "an adapter that changes the model before its first step, because it is FourierFT",
    looks_like=("ADP032",),
    steps=40,
)
