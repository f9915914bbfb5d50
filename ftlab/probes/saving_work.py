"""Hears the watched model being saved, and reads back what is on disk."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ftlab.probes.base_sample import base_changed
from ftlab.probes.loading_work import LoadingWork
from ftlab.probes.saved_check import check_saved
from ftlab.probes.start_facts import start_facts
from ftlab.probes.taps.forward import innermost


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
            if detail["kind"] == "model" and self._base_changed():
                detail["base_changed"] = True
        if detail.get("kind") == "model" and self.adapter_taken:
            detail["adapter_taken"] = True
        self._steps.now.ledger.add("save", "model", **detail)

    def _base_changed(self) -> bool:
        subject = self._steps.subject
        sample = start_facts(subject).get("base") or {}
        return base_changed(innermost(subject.model), sample)
