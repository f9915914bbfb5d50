"""Whether a model can learn from a batch, or even read it: looked at before it does.

Who calls whom: `BatchChecks.on_batch` queues some reductions in front of a forward.
One step late `ftlab.probes.tokens.batch_oddities` reads what they gave. Where the
forward raises, no step ends: what was copied to the host in front of it is told by
`BatchChecks.on_unfinished`. In a light step a batch of integers is kept unread, and
read if the forward raises or the loss is not finite.
"""

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading, Result, Tensors
from ftlab.probes.subject import Subject
from ftlab.probes.tokens.batch import batch_fields
from ftlab.probes.tokens.batch_limits import BatchLimits, limits_of
from ftlab.probes.tokens.batch_oddities import constant_input, oddities_of, refused
from ftlab.probes.tokens.batch_stats import FieldStats, Layout, read, reduced
from ftlab.probes.tokens.piece_names import piece_names
from ftlab.probes.tokens.repeated_batches import RepeatedBatches, SameTensor, stream_of
from ftlab.records.batch_facts import Oddity, SeenBatches
from ftlab.records.event import Event
from ftlab.records.handle import Handle

EVENTS = 64
"""Odd steps of a run that are written down."""

CONSTANT = 4
"""First micro-batches that all hold the same number everywhere."""


class _Early:
    """A copy on the host that outlives the device.

    After a forward that raised on a CUDA device nothing can be asked of that device any
    more; what was copied in front of the forward is in host memory by then.
    """

    def __init__(self, values: torch.Tensor) -> None:
        self._host: torch.Tensor | None = None
        self._event: torch.cuda.Event | None = None
        if values.device.type == "cpu":
            self._host = values
        # a graph that is being captured allows no new memory on the host
        elif values.is_cuda and not torch.cuda.is_current_stream_capturing():
            self._host = torch.empty(
                values.shape, dtype=values.dtype, device="cpu", pin_memory=True
            )
            self._host.copy_(values, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record(torch.cuda.current_stream(values.device))

    def array(self) -> NDArray[np.float32] | None:
        """Return the values; ``None`` from devices without events."""
        if self._event is not None:
            with contextlib.suppress(RuntimeError):  # the device is unusable
                self._event.synchronize()
        return None if self._host is None else self._host.numpy()


@dataclass(slots=True)
class _Look:
    """One micro-batch."""

    micro_batch: int
    layout: Layout
    limits: BatchLimits
    refused: tuple[Oddity, ...]
    same: bool
    integers: frozenset[str]
    early: _Early
    told: bool = False


class BatchChecks(Probe):
    """Look for ids, labels and inputs that a model cannot take or learn from."""

    def __init__(self) -> None:
        self._begin(None)

    def _begin(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._tensors: Tensors | None = None
        self._limits = BatchLimits()
        self._step = -1
        self._looks: list[_Look] = []
        self._unread: list[dict[str, torch.Tensor]] = []
        self._events = 0
        self._constant = 0
        self._seen = 0
        self._repeated = RepeatedBatches()
        self._same = SameTensor()

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin with nothing seen."""
        self._begin(subject.tokenizer)
        return ()

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Queue the reductions, and a copy of their own for when the forward raises."""
        if moment.tensors is not self._tensors:
            self._tensors = moment.tensors
            self._limits = limits_of(moment.subject.model)
        if moment.step != self._step:
            self._step, self._looks, self._unread = moment.step, [], []
        fields = batch_fields(inputs)
        if not (
            moment.full or any(each.is_floating_point() for each in fields.values())
        ):
            self._unread = [fields]
            return ()
        return self._read(moment, fields)

    def on_spoilt_loss(self, moment: Moment) -> Iterable[Reading]:
        """Read the batch that has made it."""
        unread, self._unread = self._unread, []
        for fields in unread:
            yield from self._read(moment, fields)

    def _read(
        self, moment: Moment, fields: dict[str, torch.Tensor]
    ) -> Iterator[Reading]:
        look, values = self._look(fields)
        yield Reading(values, partial(self._finish, look, moment.step))

    def _look(self, fields: dict[str, torch.Tensor]) -> tuple[_Look, torch.Tensor]:
        number = len(self._looks)
        values, layout = reduced(fields)
        look = _Look(
            number,
            layout,
            self._limits,
            tuple(refused(fields, self._limits, number)),
            self._same(fields.get("input_ids")),
            _integers(fields),
            _Early(values),
        )
        self._looks.append(look)
        return look, values

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of the batch."""
        self._unread = []
        return {}

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell of what the step under way was fed, if it is odd."""
        if step == self._step:
            while self._unread:
                with contextlib.suppress(RuntimeError):  # the device is unusable
                    self._look(self._unread.pop())
        pending = self._looks if step == self._step else []
        for look in pending:
            if look.told:
                continue
            values = look.early.array()
            stats = [] if values is None else list(read(values, look.layout))
            found = [] if values is None else list(self._oddities(look, stats))
            if found:
                look.told = True
                yield self._event(found, step, unfinished=True)

    def _finish(
        self, look: _Look, step: int, values: NDArray[np.float32]
    ) -> Iterator[Result]:
        stats = list(read(values, look.layout))
        found = [] if look.told else list(self._oddities(look, stats))
        found += self._over_time(look, stats, values)
        if not self._seen or (found and self._events < EVENTS):
            self._events += bool(found)
            yield self._event(found, step)
        self._seen += 1

    def _oddities(self, look: _Look, stats: Sequence[FieldStats]) -> Iterator[Oddity]:
        yield from look.refused
        for each in oddities_of(stats, look.limits, look.micro_batch):
            named = each.kind in ("ids", "labels") and look.limits.per_token
            known = piece_names(self._tokenizer, [int(each.value)]) if named else {}
            yield replace(each, piece="".join(known.values()))

    def _over_time(
        self, look: _Look, stats: Sequence[FieldStats], values: NDArray[np.float32]
    ) -> Iterator[Oddity]:
        """Yield what only several batches in a row prove."""
        constant = None
        if self._constant == self._seen:
            constant = constant_input(stats, look.integers)
        if constant is not None:
            self._constant += 1
            if self._constant == CONSTANT:
                name, value = constant
                yield Oddity("constant", name, look.micro_batch, value=value)
        workers = self._repeated.add(values, same=look.same)
        if workers and (name := stream_of(workers)):
            yield Oddity("repeated", name, look.micro_batch, value=workers, limit=1)

    def _event(
        self, found: Sequence[Oddity], step: int, *, unfinished: bool = False
    ) -> Event:
        words = f"{len(found)} odd things in the batch" if found else "batch looked at"
        seen = SeenBatches(step, tuple(found), unfinished)
        return Event("batch", step, time.time(), words, seen.as_json())


def _integers(fields: Mapping[str, torch.Tensor]) -> frozenset[str]:
    """Name the fields of integers but for labels."""
    return frozenset(
        name
        for name, field in fields.items()
        if name != "labels" and not field.is_floating_point()
    )
