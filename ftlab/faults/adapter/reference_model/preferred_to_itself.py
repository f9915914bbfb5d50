"""TRL's DPOTrainer is given a shallow copy of the model as its reference.

It refuses the model itself, and cannot tell a copy that shares all weights.

Fix: leave ``ref_model`` out, or give a ``copy.deepcopy(model)``.
Source: huggingface/trl#5534.
"""

import copy

from ftlab.faults.builders import Case, Fault, base
from ftlab.faults.builders.preferences import rated_texts
from ftlab.faults.builders.trainers import case_of, dataset, quiet, words


def build(fixed: bool) -> Case:
    """Build DPO between rows that go on and rows of other starts."""
    from trl import DPOConfig, DPOTrainer

    model = base()
    trainer = DPOTrainer(
        model,
        (copy.deepcopy if fixed else copy.copy)(model),
        args=DPOConfig(**(quiet() | {"max_steps": 6}), beta=0.1, max_length=32),
        train_dataset=dataset(rated_texts()),
        processing_class=words(),
    )
    return case_of(trainer)


FAULT = Fault(
    "rewards/margins is 0 in every line of the log",
    code="ADP031",
    places=("object reference", "call copy.copy"),
    evident=2,
    families=("llama", "gpt2", "neox"),
    needs=("trl>=0.24", "datasets"),
)
