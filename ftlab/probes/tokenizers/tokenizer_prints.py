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
        self._told: Fingerprint | None = None

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin anew with the run's tokenizer."""
        self._watch, self._told = TokenizerWatch(subject.tokenizer), None
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Look whether it is still what it was."""
        found = self._watch.fingerprint()
        if found is None or (self._told and found.digest == self._told.digest):
            return ()
        told = _event(moment.step, self._told, found)
        self._told = found
        return (Reading(torch.zeros(0), lambda _: [told]),)


def _event(step: int, before: Fingerprint | None, now: Fingerprint) -> Event:
    words = f"the tokenizer is {now.kind}, {now.digest[:12]}"
    detail: dict[str, Any] = {"fingerprint": now.as_json()}
    if before is not None:
        parts = before.differing(now)
        words = f"the tokenizer has changed: {', '.join(parts)}"
        detail["changed"] = list(parts)
    return Event("tokenizer", step, time.time(), words, detail)
