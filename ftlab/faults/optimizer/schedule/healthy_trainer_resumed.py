"""A Trainer that goes on from a checkpoint, as it should be done.

Weights, moments, schedule and random state come from the checkpoint of step 20. The
first loss is not that of the base, and the schedule does not begin with its warm-up.
"""

import functools
from pathlib import Path
from typing import Any

from ftlab.faults.builders import Case, Healthy, lora
from ftlab.faults.builders.trainers import STEPS, trained

SAVED = 20


def build() -> Case:
    """Build LoRA in a Trainer whose checkpoint another one has made."""
    settings = {"max_steps": SAVED + STEPS, "warmup_steps": 10}
    first = trained(lora(), save_strategy="steps", save_steps=SAVED, **settings)
    first.trainer.add_callback(_stopper())
    first.trainer.train()
    saved = Path(first.trainer.args.output_dir) / f"checkpoint-{SAVED}"
    case = trained(lora(), **settings)
    case.trainer.first = first.trainer  # its folder goes with it
    train = case.trainer.train
    case.trainer.train = functools.partial(train, resume_from_checkpoint=str(saved))
    return case


def _stopper() -> object:
    from transformers import TrainerCallback

    class Stop(TrainerCallback):
        """Ends the training after the checkpoint."""

        def on_save(
            self, args: object, state: object, control: Any, **_: object
        ) -> None:
            control.should_training_stop = True

    return Stop()


HEALTHY = Healthy(
    "training begins at step 20, with moments from a file",
    looks_like=("OPT003", "ADP001", "OPT001", "ADP027", "DAT029"),
)
