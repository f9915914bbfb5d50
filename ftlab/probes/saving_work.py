"""Hears the watched model being saved, and reads back what is on disk."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ftlab.probes.loading_work import LoadingWork
from ftlab.probes.saved_check import check_saved


class SavingWork(LoadingWork):
    """What a loop hears of saving; a part of `ftlab.probes.loop.Loop`."""

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
        if detail.get("kind") == "model" and self.adapter_taken:
            detail["adapter_taken"] = True
        self._steps.now.ledger.add("save", "model", **detail)
