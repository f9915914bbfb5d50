"""A Trainer resumes from the checkpoint at which its training was over.

``max_steps`` counts from the begin of the first run. It was left as it was, so that one
update is made and ``train()`` returns.

Fix: raise ``max_steps`` to what both runs shall make together.
Source: measured, with transformers' ``Trainer``.
"""

from ftlab.faults.builders import Case, Fault, lora, resumed

SAVED = 8


def build(fixed: bool) -> Case:
    """Build a Trainer that is going to resume at step 8."""
    return resumed(lora, SAVED, max_steps=2 * SAVED if fixed else SAVED)


FAULT = Fault(
    "the training that was continued returns at once, and nothing was learnt",
    code="ADP027",
    places=("config max_steps",),
    steps=1,
    evident=SAVED - 1,
    families=("llama", "gpt2", "neox"),
)
