"""The tokenizer of the base model is saved beside the fine-tuned one.

The script loads a second tokenizer to save it, without the tokens that were added for
training: their rows are in the model, and nothing writes their ids any more.

Fix: save the tokenizer that the run was trained with, or pass it to the Trainer.

Source: unslothai/unsloth#978 (a reloaded model that does not know its new tokens).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, folder
from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.tokenizer_folders import looped


def build(fixed: bool) -> Case:
    """Train with one more token, and save with or without it."""
    made, base = tokenizer(), tokenizer()
    made.add_tokens(["<call>"])
    case = looped(made)
    model: Any = case.model
    where = folder(case.model) / "checkpoint"

    def save() -> None:
        model.save_pretrained(where)
        (made if fixed else base).save_pretrained(where)

    case.afterwards = save
    return case


FAULT = Fault(
    "the loaded model splits its new token into pieces",
    code="DAT070",
    places=("file checkpoint",),
    steps=4,
    evident=3,
)
