"""Hears the watched model being saved, and reads back what is on disk."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.saved_check import check_saved
from ftlab.probes.steps import Steps
from ftlab.probes.taps.forward import innermost


class SavingWork:
    """What a loop hears of saving; a part of `ftlab.probes.loop.Loop`."""

    _steps: Steps

    def after_save(
        self, owner: Any, folder: Path, selected: Sequence[str] | None
    ) -> None:
        """Write into the ledger what was saved, and what is missing from it."""
        if not self._is_mine(owner):
            return
        detail: dict[str, Any] = {"folder": folder.name}
        # What was written may be moved, damaged or of a kind that nobody knows: then
        # there is nothing to say of it, and watching goes on.
        with contextlib.suppress(Exception):
            detail |= check_saved(owner, folder, selected)
        self._steps.now.ledger.add("save", "model", **detail)

    def _is_mine(self, owner: Any) -> bool:
        mine = innermost(self._steps.subject.model)
        if owner is mine:
            return True
        return isinstance(owner, torch.nn.Module) and any(
            each is owner for each in mine.modules()
        )
