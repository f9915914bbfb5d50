"""The configuration asks for BOS in front of each text, and no row has one.

The post-processor in ``tokenizer.json``, which another tool has written anew without
it, decides; ``add_bos_token`` is stored and not applied.

Fix: set ``tokenizer.add_bos_token = True`` after loading, look at the ids, and save.

Source: unslothai/unsloth#7903, unslothai/notebooks#251.
"""

from pathlib import Path

from ftlab.faults.builders.chats import chats, ids_of, labelled, tokenizer
from ftlab.faults.builders.tokenizer_folders import CONFIG, change, loaded, looped
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Take the post-processor out of tokenizer.json."""

    def edit(folder: Path) -> None:
        change(folder / CONFIG, add_bos_token=True)
        if not fixed:
            change(folder / "tokenizer.json", post_processor=None)

    made = loaded(tokenizer(adds_bos=True), edit)
    texts = [talk[1]["content"] + "</turn>" for talk in chats()]
    return looped(made, rows=labelled(ids_of(made, texts)))


FAULT = Fault(
    "no row begins with the BOS that the configuration asks for",
    code="DAT073",
    places=("file tokenizer_config.json",),
    steps=4,
    needs=("transformers>=5",),
)
