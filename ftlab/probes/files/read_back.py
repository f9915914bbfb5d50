"""Adapters that are loaded again, into any model, from folders that the run has saved.

PEFT writes adapters that are not called "default" into folders of their names, and
"default", or whatever lies there already, into the folder that was asked for.
"""

from pathlib import Path
from typing import Any

from ftlab.probes.files.adapter_folder import WEIGHTS, adapter_folder

TARGET = "saved folder"
"""Target of the entry about a folder of this run that was read."""


class ReadBack:
    """Knows the folders that the watched model was saved to."""

    def __init__(self) -> None:
        self._saved: set[Path] = set()

    def saved(self, folder: Path) -> None:
        """Remember a folder."""
        self._saved.add(folder.resolve())

    def read(self, folder: Path) -> dict[str, Any]:
        """Look into a folder that an adapter was loaded from.

        Returns
        -------
        dict
            ``folder``, its name; ``zero``, whether all B in it are 0; ``below``,
            adapters in folders of their names below it in which not all are. Nothing
            where the run has not saved it, or where PEFT finds no adapter.
        """
        path = folder.resolve()
        if not self._saved.intersection((path, path.parent)):
            return {}
        if not (path / WEIGHTS).is_file():
            return {}
        inside = sorted(each.parent for each in path.glob(f"*/{WEIGHTS}"))
        return {
            "folder": path.name,
            "zero": _is_zero(path),
            "below": [each.name for each in inside if not _is_zero(each)],
        }


def _is_zero(folder: Path) -> bool:
    """Tell whether an adapter adds nothing: it has B, and each of them is 0."""
    tensors = adapter_folder(folder).tensors()
    moved = [
        bool((tensor != 0).any())
        for key, tensor in tensors
        if ".lora_B." in key or ".lora_embedding_B" in key
    ]
    return bool(moved) and not any(moved)
