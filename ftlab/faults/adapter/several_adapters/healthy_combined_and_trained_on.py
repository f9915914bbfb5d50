"""Two adapters are combined, and the combination is trained on."""

from ftlab.faults.adapter.several_adapters.combined_with_rslora import (
    combine,
    two_trained,
)
from ftlab.faults.builders import Case, Healthy, plain_case


def build() -> Case:
    """Build the combination of two adapters without rsLoRA."""
    model = two_trained()
    combine(model, [0.7, 0.3], "linear")
    return plain_case(model, lr=1e-3)


HEALTHY = Healthy(
    "an adapter's factors are sums of those of two others",
    looks_like=("ADP038", "ADP017", "ADP008", "ADP010"),
)
