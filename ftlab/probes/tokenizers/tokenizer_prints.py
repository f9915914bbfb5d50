"""Which tokenizer a run is trained with, and whether it changes on the way."""

import re
import time
from collections.abc import Iterable
from typing import Any

import torch

from ftlab.probes.plain import readable
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.probes.tokenizers.folder_tokenizer import folder_print, loaded_from
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.probes.tokenizers.subject_watch import watch_of
from ftlab.probes.tokenizers.tokenizer_watch import TEXT
from ftlab.records.event import Event
from ftlab.records.fingerprint import SIDES, Fingerprint
from ftlab.records.handle import Handle


class TokenizerPrints(Probe):
    """Write down the tokenizer's fingerprint, and again where it has changed.

    The first one reads the vocabulary, 0.5 s of 131,000 entries, once for a run.
    """

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)
        self._begin()

    def _begin(self) -> None:
        self._told: set[str] = set()
        self._last: Fingerprint | None = None
        self._looked = -1
        self._ids: list[list[int]] = []

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin anew with the run's tokenizer."""
        self._begin()
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Look whether it is still what it was."""
        found = watch_of(moment.subject).fingerprint()
        looked, self._looked = self._looked, moment.step
        if found is None or found is self._last:
            return ()
        before, self._last = self._last, found
        if before is not None and before.digest == found.digest:
            return ()
        told = self._event(moment, before, found, looked)
        return (Reading(torch.zeros(0), lambda _: [told]),)

    def _has_other_ids(self, tokenizer: Any) -> bool:
        """Tell whether a word that holds no mark has other ids than when last asked."""
        before, self._ids = self._ids, _ids(tokenizer)
        pairs = zip(before, self._ids, strict=False)
        return any(old and new and old != new for old, new in pairs)

    def _event(
        self, moment: Moment, before: Fingerprint | None, now: Fingerprint, looked: int
    ) -> Event:
        """Tell a fingerprint in full where it comes for the first time.

        The side of the padding may go to and fro with each evaluation.
        """
        words = f"the tokenizer is {now.kind}, {now.digest[:12]}"
        detail: dict[str, Any] = {"digest": now.digest}
        other_ids = self._has_other_ids(moment.subject.tokenizer)
        if before is not None:
            parts = before.differing(now)
            words = f"the tokenizer has changed: {', '.join(parts)}"
            detail["changed"] = list(parts)
            detail |= {"other_ids": other_ids, "looked": looked}
            if set(parts) != {SIDES}:
                detail |= _on_disk(moment.subject.tokenizer, now)
                words += (
                    "; it is what its folder holds" if detail.get("reloaded") else ""
                )
        if now.digest not in self._told:
            detail["fingerprint"] = now.as_json()
        self._told.add(now.digest)
        return Event("tokenizer", moment.step, time.time(), words, detail)


def _on_disk(tokenizer: Any, now: Fingerprint) -> dict[str, Any]:
    """Compare with the folder that it was loaded from: a hot reload gives what it has.

    ``reloaded`` is whether that is so, ``apart`` names the parts that differ, and
    ``folder`` the folder.
    """
    folder = loaded_from(tokenizer)
    held = None if folder is None else folder_print(folder)
    if folder is None or held is None:
        return {}
    apart = [part for part in now.differing(held) if part != SIDES]
    return {"reloaded": not apart, "apart": apart, "folder": folder.name}


def _ids(tokenizer: Any) -> list[list[int]]:
    """Return the ids of words, one by one: few limits that a call leaves cut a word."""
    reader = reader_of(tokenizer)
    if reader is None:
        return []
    words = re.findall(r"\s*\S+", TEXT.partition("<")[0])
    found = readable(ids=lambda: [reader.word_ids(each) for each in words])
    return found.get("ids") or []
