"""The two factors of Adam stand in the wrong order.

``betas=(0.999, 0.9)``: the direction is an average over a thousand gradients and its
size one over ten.

Fix: ``betas=(0.9, 0.999)``.
Source: measured.
"""

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora


def build(fixed: bool) -> Case:
    """Train LoRA with one order or the other."""
    model = lora()
    optimizer = adamw(model, betas=(0.9, 0.999) if fixed else (0.999, 0.9))
    return loop_case(model, optimizer)


FAULT = Fault(
    "the direction lags behind by hundreds of steps",
    code="OPT024",
    places=("optimizer betas",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
