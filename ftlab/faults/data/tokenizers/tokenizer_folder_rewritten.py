"""Another job writes into the folder that this run's tokenizer was loaded from.

The run goes on with what it has loaded. The next one, and whoever evaluates this one,
loads the new files: one more token, and every id behind it has moved.

Fix: load from a revision that nobody writes to, and save the run's own tokenizer.

Source: a base model's folder that two fine-tunes share.
"""

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.tokenizer_folders import between, folder_of, loaded, looped
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Write the files again: with one more token, or the run's own."""
    made = loaded(tokenizer())
    other = tokenizer()
    if not fixed:
        other.add_tokens(["<call>"])
    folder = folder_of(made)
    return between(looped(made), 2, lambda: other.save_pretrained(folder))


FAULT = Fault(
    "an evaluation in another process has other ids for the same text",
    code="DAT070",
    places=("file tokenizer.json",),
    evident=2,
)
