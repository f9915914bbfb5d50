"""The optimizer was copied from an adversarial attack, and climbs the loss.

The loss rises from the first step on, and with a lower learning rate it rises more
slowly.

Fix: ``maximize=False``, the default.
Source: seed; pytorch/pytorch#68052 (the flag, and where it comes from).
"""

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora


def build(fixed: bool) -> Case:
    """Build LoRA under an AdamW that maximizes."""
    model = lora()
    optimizer = adamw(model, 5e-3, maximize=not fixed)
    return loop_case(model, optimizer)


FAULT = Fault(
    "the loss rises steadily from the first step, whatever the learning rate",
    code="OPT027",
    places=("optimizer maximize",),
    steps=24,
    evident=16,
    families=("llama", "gpt2", "neox", "own"),
)
