"""A learning rate of 1.0, taken over from SGD, in AdamW.

Each of Adam's first updates moves every weight by the learning rate. The loss leaves
its starting value behind within two steps, and the gradients with it.

Fix: 1e-4 to 1e-3 for LoRA.
Source: seen in most first attempts.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA on all linear layers with a trained head."""
    model = lora(target_modules="all-linear", modules_to_save=["lm_head"])
    return plain_case(model, lr=1e-3 if fixed else 1.0)


FAULT = Fault(
    "the loss jumps above its first value and does not come back",
    code="OPT014",
    places=("optimizer lr",),
    steps=12,
    evident=3,
    also=("GRD001", "GRD002"),
)
