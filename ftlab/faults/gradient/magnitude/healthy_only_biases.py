"""BitFit: only biases are trained, at a learning rate to match.

Some of them have a gradient of 0 in theory: adding a constant to all keys changes no
attention.
"""

from ftlab.faults.builders import Case, Healthy, gpt2, plain_case


def build() -> Case:
    """Build a GPT-2 of which only the biases are trained."""
    model = gpt2()
    for name, weight in model.named_parameters():
        weight.requires_grad_(name.endswith("bias"))
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "every weight matrix is frozen",
    looks_like=("GRD001", "GRD003"),
)
