"""Which tokenizer a run is trained with, and whether it changes on the way."""

import time
from collections.abc import Iterable
from typing import Any, ClassVar

import torch

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.probes.tokenizers.tokenizer_watch import TokenizerWatch
from ftlab.records.event import Event
from ftlab.records.fingerprint import Fingerprint
from ftlab.records.handle import Handle


class TokenizerPrints(Probe):
    """Write down the tokenizer's fingerprint, and again where it has changed.

    The first one reads the vocabulary, 0.5 s of 131,000 entries, once for a run.
    """

    name: ClassVar[str] = "tokenizer_prints"

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)
        self._watch = TokenizerWatch(None)
        self._told: set[str] = set()
        self._last: Fingerprint | None = None

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin anew with the run's tokenizer."""
        self._watch = TokenizerWatch(subject.tokenizer)
        self._told, self._last = set(), None
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Look whether it is still what it was."""
        found = self._watch.fingerprint()
        if found is None or found is self._last:
            return ()
        before, self._last = self._last, found
        if before is not None and before.digest == found.digest:
            return ()
        told = self._event(moment.step, before, found)
        return (Reading(torch.zeros(0), lambda _: [told]),)

    def _event(self, step: int, before: Fingerprint | None, now: Fingerprint) -> Event:
        """Tell a fingerprint in full where it comes for the first time.

        The side of the padding may go to and fro with each evaluation.
        """
        words = f"the tokenizer is {now.kind}, {now.digest[:12]}"
        detail: dict[str, Any] = {"digest": now.digest}
        if before is not None:
            parts = before.differing(now)
            words = f"the tokenizer has changed: {', '.join(parts)}"
            detail["changed"] = list(parts)
        if now.digest not in self._told:
            detail["fingerprint"] = now.as_json()
        self._told.add(now.digest)
        return Event("tokenizer", step, time.time(), words, detail)
