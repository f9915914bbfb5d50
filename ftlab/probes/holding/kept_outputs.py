"""Outputs of a step that are still held when the next forward begins."""

import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch

from ftlab.probes.graph.flow_calls import floats_in
from ftlab.probes.graph.module_hook import ModuleHook
from ftlab.probes.holding.holders import example, holder_kind
from ftlab.probes.holding.labels import way_labels
from ftlab.probes.holding.walk import Walk
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.records.event import Event
from ftlab.records.handle import Handle, HandleStack
from ftlab.records.holding import Growth

FIRST, TIMES = 6, 3
"""The step before which it is looked first, and how often in a row it must be so."""

SHARE = 0.05
"""Part of the weights' bytes from which it is told; of a GPU's, a warning."""


class KeptOutputs(Probe):
    """Names who holds a step's outputs until the next forward; looks at three steps."""

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Remember what the model puts out, without holding it."""
        self._outputs: list[weakref.ref[torch.Tensor]] = []
        self._hook = HandleStack()
        self._first: int | None = None
        self._weights = sum(each.nbytes for each in subject.model.parameters())
        model = innermost(subject.model)
        if not isinstance(model, torch.nn.TransformerEncoderLayer):
            hook = ModuleHook(self._see, model, "")
            self._hook.add(model.register_forward_hook(hook))
        yield self._hook

    def _see(self, path: str, output: Any) -> None:
        trained = [each for each in floats_in(output) if each.requires_grad]
        if trained:  # a rollout for this very step is none of the step before
            self._outputs = [weakref.ref(each) for each in trained]

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Look whether they are still there."""
        if not len(self._hook):
            return
        if self._first is None:
            self._first = moment.step
        since = moment.step - self._first - FIRST
        if since < 0:
            return
        kept = [each for ref in self._outputs if (each := ref()) is not None]
        large = sum(each.nbytes for each in kept) >= SHARE * self._weights
        if large and since < TIMES - 1:
            return
        self._hook.remove()
        found = _holding(kept) if large else None
        if found is not None:
            words = f"{''.join(found.path)} is held until the next forward"
            cuda = kept[0].is_cuda
            room = torch.cuda.mem_get_info(kept[0].device)[1] if cuda else 0
            detail = {
                "kept": asdict(found),
                "weights": self._weights,
                "room": room,
                "share": SHARE,
            }
            event = Event("memory", moment.step, time.time(), words, detail)
            yield Reading(torch.zeros(0), lambda _: [event])


def _holding(kept: Sequence[torch.Tensor]) -> Growth | None:
    """Look for the largest among all that user code reaches."""
    largest = max(kept, key=lambda each: each.nbytes)
    walk = Walk()
    at = next((at for at, e in enumerate(walk.objects) if e is largest), None)
    if at is None:
        return None
    way = walk.way(at)
    path = way_labels(way)
    size = float(sum(each.nbytes for each in kept))
    kind = holder_kind(path, way)
    return Growth(path, kind, "tensor", len(kept), 0.0, 0.0, size, example(largest))
