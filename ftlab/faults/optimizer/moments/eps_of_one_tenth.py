"""LoRA hardly moves: eps is 0.1, and gradients are a thousandth of it.

A default of another library, or a recipe for image networks: Adam divides by
sqrt(v) + eps, and eps is all of it.

Fix: ``eps=1e-8``.
Source: mlpnlp/mlpnlp-nmt#4.
"""

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora


def build(fixed: bool) -> Case:
    """Train LoRA with one eps or the other."""
    model = lora()
    optimizer = adamw(model, eps=1e-8 if fixed else 0.1)
    return loop_case(model, optimizer)


FAULT = Fault(
    "the updates are a thousandth of what Adam makes",
    code="OPT021",
    places=("optimizer eps",),
    steps=10,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
