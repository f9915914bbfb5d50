"""A Trainer resumes from a checkpoint that was saved without its optimizer.

``save_only_model=True`` keeps checkpoints small. ``resume_from_checkpoint`` takes such
a folder, counts on from its step, and starts the optimizer and the schedule anew.

Fix: save the optimizer's state in checkpoints that shall be resumed from.
Source: huggingface/peft#859, lm-sys/FastChat#1280.
"""

import shutil
from pathlib import Path
from typing import Any

from ftlab.faults.builders import Case, Fault, folder, lora, trained


def build(fixed: bool) -> Case:
    """Build a Trainer that is going to resume at step 4."""
    model = lora()
    checkpoint = folder(model) / "checkpoint-4"
    saving = {"save_strategy": "steps", "save_steps": 4, "save_only_model": not fixed}
    first = trained(lora(), max_steps=4, **saving, **_RATE).trainer
    first.train()
    shutil.copytree(Path(first.args.output_dir) / checkpoint.name, checkpoint)
    case = trained(model, max_steps=8, **_RATE)
    case.trainer.train = _Resuming(case.trainer, checkpoint)
    return case


_RATE = {"learning_rate": 1e-2, "warmup_steps": 2}


class _Resuming:
    """The user's call: ``trainer.train(resume_from_checkpoint=folder)``."""

    def __init__(self, trainer: Any, checkpoint: Path) -> None:
        self._train = type(trainer).train.__get__(trainer)
        self._checkpoint = str(checkpoint)

    def __call__(self) -> Any:
        return self._train(resume_from_checkpoint=self._checkpoint)


FAULT = Fault(
    "the loss jumps after resume_from_checkpoint, and the warm-up comes again",
    code="ADP027",
    places=("optimizer state", "call lr_scheduler.last_epoch"),
    steps=8,
    evident=3,
)
