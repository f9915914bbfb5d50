"""``lora_alpha`` was given where the scaling of another library was meant.

alpha / r is 64: an ordinary learning rate moves the weights 32 times too far.

Fix: ``lora_alpha`` of r to 2 r.
Source: arXiv:2106.09685, section 4.1 (tuning alpha is tuning the learning rate).
"""

from ftlab.faults.builders import Case, Fault, current, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model with an ordinary or a large alpha."""
    rank = current().rank
    model = lora(
        lora_alpha=2 * rank if fixed else 64 * rank, target_modules="all-linear"
    )
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the first steps throw the model off",
    code="ADP018",
    places=("config lora_alpha",),
    steps=24,
    evident=1,
    also=("GRD002",),
    families=("llama", "gpt2", "neox", "own"),
)
