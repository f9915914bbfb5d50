"""A Trainer resumes with another learning rate, and goes on with the old one.

``resume_from_checkpoint`` loads the optimizer's groups and the schedule over those that
were made of the arguments.

Fix: load the weights alone, and begin a new run with the new rate.
Source: huggingface/transformers#27749, #34053 (rates after a resume).
"""

from ftlab.faults.builders import Case, Fault, lora, resumed

SAVED = 8


def build(fixed: bool) -> Case:
    """Build a Trainer that is going to resume at step 8."""
    rate = 3e-3 if fixed else 1e-4
    first = {"learning_rate": 3e-3}
    return resumed(lora, SAVED, first, max_steps=2 * SAVED, learning_rate=rate)


FAULT = Fault(
    "the new learning rate has no effect after resume_from_checkpoint",
    code="ADP027",
    places=("config learning_rate",),
    steps=8,
    evident=SAVED - 1,
    families=("llama", "gpt2", "neox"),
)
