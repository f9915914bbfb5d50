"""An EOS that was corrected comes back as the old one.

``eos_token`` was mended in ``tokenizer_config.json``. An older version has left
``special_tokens_map.json``, which still names the old one and is read after it.

Fix: delete ``special_tokens_map.json``: transformers 5 writes none.

Source: axolotl-ai-cloud/axolotl#1322, hiyouga/LlamaFactory#3041.
"""

from pathlib import Path

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.tokenizer_folders import MAP, change, loaded, looped
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Leave the map of an older version in the folder."""

    def edit(folder: Path) -> None:
        change(folder / MAP, eos_token="</turn>" if fixed else "</s>")

    return looped(loaded(tokenizer(), edit))


FAULT = Fault(
    "the tokenizer has another EOS than its configuration says",
    code="DAT073",
    places=("file special_tokens_map.json", "file tokenizer_config.json"),
    steps=2,
    also=("DAT018",),
    needs=("transformers>=5",),
)
