"""A collator masks prompts by a column that never reaches it.

``remove_unused_columns`` is on, and the model's forward names no ``prompt_length``. The
collator asks for it with a default of 0, and masks nothing: prompts are trained.

Fix: ``TrainingArguments(remove_unused_columns=False)``.

Source: huggingface/transformers#19599; transformers documentation,
``TrainingArguments.remove_unused_columns``.
"""

from typing import Any

from ftlab.faults.builders.chats import answers_only, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Count the tokens that come before the answer, row by row."""
    made = tokenizer()
    rows = [
        {
            "input_ids": row["input_ids"],
            "prompt_length": next(
                at for at, label in enumerate(row["labels"]) if label != -100
            ),
        }
        for row in answers_only(made)
    ]
    collator = PromptMask(made)
    return trained_on(made, rows, collator, remove_unused_columns=not fixed)


class PromptMask:
    """Pads rows on the right, and leaves their prompts out of the labels."""

    def __init__(self, made: Any) -> None:
        self._tokenizer = made

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Make a batch of rows."""
        from torch import arange, where

        ids = [{"input_ids": row["input_ids"]} for row in rows]
        batch = self._tokenizer.pad(ids, return_tensors="pt")
        places = arange(batch["input_ids"].shape[1])
        labels = where(batch["attention_mask"] == 1, batch["input_ids"], -100)
        for at, row in enumerate(rows):
            labels[at, places < row.get("prompt_length", 0)] = -100
        return {**batch, "labels": labels}


FAULT = Fault(
    "a collator masks by a column that is removed",
    code="MOD013",
    places=(
        "config remove_unused_columns",
        "data column prompt_length",
        "call PromptMask.__call__",
    ),
)
