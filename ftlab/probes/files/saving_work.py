"""Hears the watched model being saved, and reads back what is on disk.

What somebody writes himself is told by what is given to be written: nobody knows how to
read it back.
"""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ftlab.probes.adapter.start_facts import start_facts
from ftlab.probes.files.held_states import TARGET
from ftlab.probes.files.loading_work import LoadingWork
from ftlab.probes.files.saved_check import check_saved
from ftlab.probes.files.saved_files import WrittenFiles
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tensors.base_sample import base_changed


class SavingWork(LoadingWork):
    """What a loop hears of saving; a part of `ftlab.probes.stepping.loop.Loop`."""

    def __init__(self) -> None:
        super().__init__()
        self._files = WrittenFiles()

    def weights_updated(self) -> None:
        """Begin a new account of what is written."""
        super().weights_updated()
        subject = self._steps.subject
        self._files.weights_updated(innermost(subject.model), subject.optimizers)

    def after_write(self, content: Any, file: Any) -> None:
        """Write into the ledger what of the trained weights is in files by now."""
        subject = self._steps.subject
        model, detail = innermost(subject.model), {}
        with contextlib.suppress(Exception):
            if held := self._held.written(model, content):
                held["file"] = _name_of(file)
                self._steps.now.ledger.add("write", TARGET, **held)
        # Anything may be written: then there is nothing to say of it.
        with contextlib.suppress(Exception):
            taken = bool(self._taken)
            known = subject.optimizers
            detail = self._files.written(model, known, content, taken=taken)
        if detail:
            self._note_file(detail | {"file": _name_of(file)})

    def end_of_files(self) -> None:
        """Write into the ledger that nothing was written after the last file."""
        if detail := self._files.latest():
            self._steps.now.ledger.add("write", "model", **detail, over=True)

    def _note_file(self, detail: dict[str, Any]) -> None:
        ledger = self._steps.now.ledger
        ledger.add("write", "model", **detail)
        if detail["whole"]:
            whole: dict[str, Any] = {"kind": "model", "renamed": 0, "own": True}
            whole |= {"folder": detail["file"], "keys": detail["whole"]}
            if self._base_changed():
                whole["base_changed"] = True
            if self.adapter_taken:
                whole["adapter_taken"] = True
            ledger.add("save", "model", **whole)

    def after_save(
        self, owner: Any, folder: Path, selected: Sequence[str] | None
    ) -> None:
        """Write into the ledger what was saved, and what is missing from it."""
        if not self._is_mine(owner):
            return
        self._files.saved_by_model()
        self._read_back.saved(folder)
        detail: dict[str, Any] = {"folder": folder.name}
        # What was written may be moved, damaged or of a kind that nobody knows: then
        # there is nothing to say of it, and watching goes on.
        with contextlib.suppress(Exception):
            detail |= check_saved(owner, folder, selected)
            if detail["kind"] == "model" and self._base_changed():
                detail["base_changed"] = True
        if detail.get("kind") == "model" and self.adapter_taken:
            detail["adapter_taken"] = True
        if detail.get("kind") != "adapter":
            self._steps.tell("on_handover")
        self._steps.now.ledger.add("save", "model", **detail)
        self._steps.tell("on_save", owner, folder)

    def after_tokenizer_save(self, owner: Any, folder: Path) -> None:
        """Show the probes a tokenizer that was saved, whoever's it is."""
        self._steps.tell("on_save", owner, folder)

    def _base_changed(self) -> bool:
        subject = self._steps.subject
        sample = start_facts(subject).get("base") or {}
        return base_changed(innermost(subject.model), sample)


def _name_of(file: Any) -> str:
    """Return a file's name, and nothing for what is written into memory."""
    return Path(file).name if isinstance(file, str | os.PathLike) else ""
