"""A Trainer loads the checkpoint with the highest perplexity as the best one.

``greater_is_better`` is True by default for every metric whose name does not end in
"loss". Nothing warns; the model that training ends with is the worst of all.

Fix: ``TrainingArguments(..., greater_is_better=False)``.
Source: huggingface/transformers#31142, huggingface/transformers#7431.
"""

import math
from dataclasses import replace

from ftlab.faults.builders import Case, Fault, chosen_by, current, lora, varied


def build(fixed: bool) -> Case:
    """Build a Trainer that chooses its checkpoint by perplexity."""
    asked = {"greater_is_better": False} if fixed else {}
    # The best adapter of another name is not found at all: that is ADP035's fault.
    with varied(replace(current(), adapter="default")):
        return chosen_by("perplexity", math.exp, lora(), **asked)


FAULT = Fault(
    "the model after training is worse than the last checkpoint",
    code="ADP058",
    places=("config greater_is_better", "config metric_for_best_model"),
    steps=8,
    evident=0,
)
