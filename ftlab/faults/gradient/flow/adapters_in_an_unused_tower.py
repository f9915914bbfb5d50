"""The picture encoder of a model that sees gets adapters; the data are text alone.

``target_modules=["q_proj", "v_proj"]`` fits the ends of names, and the projections of
the encoder are called the same. No batch runs it: its adapters count as trainable, are
held by the optimizer, and are saved as they were drawn.

Fix: a regular expression with the path of the language model, or ``exclude_modules``.
Source: haotian-liu/LLaVA#1380, zjysteven/lmms-finetune#14.
"""

from ftlab.faults.builders import Case, Fault, lora, trained
from ftlab.faults.builders.seers import seer

STEPS = 6


def build(fixed: bool) -> Case:
    """Build a Trainer of a model that sees, on rows of text."""
    ends = ["q_proj", "v_proj"]
    words = r".*language_model.*\.(q_proj|v_proj)"
    model = lora(seer(), target_modules=words if fixed else ends)
    return trained(model, max_steps=STEPS)


FAULT = Fault(
    "half of the adapters are what they were before training",
    code="GRD003",
    places=("module *vision_tower",),
    steps=STEPS,
    evident=STEPS - 1,
)
