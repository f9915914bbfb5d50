"""The configuration asks for BOS, the tokenizer adds none, the template writes it."""

from pathlib import Path

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.tokenizer_folders import CONFIG, change, loaded, looped
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Leave the flag in the configuration of a tokenizer that adds none."""

    def edit(folder: Path) -> None:
        change(folder / CONFIG, add_bos_token=True)

    return looped(loaded(tokenizer(), edit))


HEALTHY = Healthy(
    "a flag for BOS has no effect, and each sample begins with BOS",
    looks_like=("DAT073",),
    steps=8,
)
