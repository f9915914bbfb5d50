"""Plain LoRA over a frozen base.

B is 0 at the start, so the gradient of A is exactly 0 at the first step; the base has
no gradient at all, at any step. Both are as they should be.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA on the attention projections."""
    model = lora()
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "B is 0 and the gradient of A exactly 0 at the first step",
    looks_like=("ADP001", "GRD003"),
)
