"""The learning rate of full fine-tuning, divided by ten for safety, on a LoRA.

Everything is wired correctly and every weight moves; after all of the planned steps
B A is a hundred-thousandth of the weights that it is added to.

Fix: 1e-4 to 3e-4 for LoRA.
Source: huggingface/diffusers#6288, a default that was too small by two digits.
"""

from ftlab.faults.builders import Case, Fault, lora, trained


def build(fixed: bool) -> Case:
    """Build a Trainer whose 24 steps cannot lead anywhere."""
    rate = 2e-4 if fixed else 1e-7
    return trained(lora(), max_steps=24, learning_rate=rate)


FAULT = Fault(
    "nothing fails, and nothing is learnt",
    code="OPT013",
    places=("optimizer lr",),
    steps=24,
    evident=16,
)
