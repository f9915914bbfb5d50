"""Two files of the tokenizer's folder list the same token under different ids.

``added_tokens.json`` is left from an earlier export. A tokenizer of another class, or
another engine, takes the ids from there.

Fix: save the tokenizer into an empty folder.

Source: huggingface/transformers#35973 (slow and fast tokenizers of Phi 3).
"""

from pathlib import Path

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.tokenizer_folders import change, loaded, looped
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Leave a file behind in which the token stands one id higher."""
    made = tokenizer()
    number = made.convert_tokens_to_ids("<turn>")

    def edit(folder: Path) -> None:
        file = folder / "added_tokens.json"
        change(file, **{"<turn>": number if fixed else number + 1})

    return looped(loaded(made, edit))


FAULT = Fault(
    "another engine reads other ids for the same special token",
    code="DAT073",
    places=("file added_tokens.json", "file tokenizer.json"),
    steps=2,
)
