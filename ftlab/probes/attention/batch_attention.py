"""What a run's batches attend to: looked at when a run begins, and seldom again.

`BatchAttention.on_batch` is called in front of a training forward. Where the batch
holds documents or padding, the forward is run up to its blocks, of which none is
computed; see `ftlab.probes.attention.layer_masks`.
"""

import contextlib
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import torch

from ftlab.probes.attention.block_calls import block_calls
from ftlab.probes.attention.blocks import stacks_of
from ftlab.probes.attention.documents import (
    Marks,
    documents_of,
    keeping_apart,
    marks_of,
)
from ftlab.probes.attention.given import of_model
from ftlab.probes.attention.layer_masks import masks_of
from ftlab.probes.attention.measure import measure
from ftlab.probes.attention.position_limit import beyond, limit_of
from ftlab.probes.attention.positions import shifts_of
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.records.attention import PADDING, AttentionReport, Documents
from ftlab.records.attributes import attribute_of, has_attribute
from ftlab.records.event import Event
from ftlab.records.handle import Handle

LOOKS = 3
"""Forwards of a run that are looked at: one for each new set of arguments."""
ROWS_OF_TOKENS = 2
"""Dimensions of ids."""
ROWS = 8
"""Rows of a batch that are looked at."""
PLACES = 16
"""Places that are written down."""


class BatchAttention(Probe):
    """Write down what the first batch attends to and must not."""

    def __init__(self) -> None:
        self._marks: Marks | None = None
        self._tokenizer: Any = None
        self._seen: set[frozenset[str]] = set()
        self._found: list[Event] = []
        self._limit = -1
        self._long = 0

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin with nothing seen."""
        self._tokenizer, self._marks = subject.tokenizer, None
        self._seen, self._found = set(), []
        self._limit, self._long = -1, 0
        return ()

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Read the masks of a forward whose arguments were not seen before."""
        self._reach(moment, inputs)
        kind = frozenset(
            f"{name}={value}" if isinstance(value, bool) else name
            for name, value in inputs.items()
            if value is not None
        )
        if kind in self._seen or len(self._seen) >= LOOKS or _apart(moment):
            return ()
        self._seen.add(kind)
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            found = self._look(moment, inputs)
            if found is not None:
                self._found.append(_event(moment, found))
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over what was found."""
        found, self._found = self._found, []
        if not found:
            return ()

        def finish(_: Any) -> Iterator[Event]:
            yield from found

        return (Reading(torch.zeros(1), finish),)

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell of rows beyond the positions: where these are a table, it has raised."""
        found = [event for event in self._found if "beyond" in event.detail]
        self._found = [event for event in self._found if event not in found]
        for event in found:
            yield replace(event, detail={**event.detail, "unfinished": True})

    def _reach(self, moment: Moment, inputs: Mapping[str, Any]) -> None:
        """Look closer at rows that are longer than the model's positions."""
        if self._limit < 0:
            self._limit = limit_of(moment.subject.model)
        width = (getattr(inputs.get("input_ids"), "shape", ()) or (0,))[-1]
        if not self._limit or width <= self._limit or self._long >= LOOKS:
            return
        self._long += 1
        with contextlib.suppress(Exception):
            documents = documents_of(inputs, self._marks_of(moment))
            reached = beyond(inputs, documents, self._limit)
            if reached:
                detail = {"rows": len(documents), "places": [], "beyond": reached}
                self._found.append(_event(moment, detail))

    def _marks_of(self, moment: Moment) -> Marks:
        if self._marks is None:
            tokenizer = getattr(self._tokenizer, "tokenizer", self._tokenizer)
            config = attribute_of(innermost(moment.subject.model), "config", None)
            self._marks = marks_of(tokenizer, config)
        return self._marks

    def _look(self, moment: Moment, inputs: Mapping[str, Any]) -> dict[str, Any] | None:
        model = moment.subject.model
        marks = self._marks_of(moment)
        if not isinstance(inputs.get("input_ids"), torch.Tensor):
            return None
        documents = documents_of(inputs, marks)
        detail: dict[str, Any] = {"rows": len(documents), "places": []}
        hidden = _hidden(model, inputs)
        if hidden:
            detail["hidden"] = hidden
        apart = keeping_apart(inputs)
        if apart:
            detail["apart"] = apart
        if any(map(_worth, documents)):
            given = of_model(model, inputs)
            shifts = shifts_of(given, documents)
            masks = masks_of(model, lambda: given.run(given.batch))
            masks.rows = min(masks.rows, ROWS)
            name = type(innermost(model)).__name__
            report = measure(masks, inputs, marks, model=name, exact=False).report
            detail |= _detail(report, inputs)
            detail["shifts"] = [asdict(each) for each in shifts[:PLACES]]
        return detail


def _hidden(model: torch.nn.Module, inputs: Mapping[str, Any]) -> list[int]:
    """Return the shape in which ids that are in no rows reach the first block.

    Blocks read samples, tokens and features. Some models put ids into rows themselves.
    """
    if inputs["input_ids"].dim() == ROWS_OF_TOKENS:
        return []
    given = of_model(model, inputs)
    calls = block_calls(stacks_of(given.model), lambda: given.run(given.batch))
    shape = list(calls[0].hidden) if calls else []
    return shape if len(shape) != ROWS_OF_TOKENS + 1 else []


def _event(moment: Moment, detail: dict[str, Any]) -> Event:
    words = f"attention of {detail['rows']} rows was looked at"
    return Event("attention", moment.step, time.time(), words, detail)


def _apart(moment: Moment) -> bool:
    """Tell whether a forward of one process alone would wait for the others."""
    distributed = torch.distributed
    several = distributed.is_available() and distributed.is_initialized()
    compiled = has_attribute(moment.subject.model, "_orig_mod")
    return compiled or (several and distributed.get_world_size() > 1)


def _worth(documents: Documents) -> bool:
    return bool(
        (documents.sure and documents.count > 1) or (documents.numbers == PADDING).any()
    )


def _detail(report: AttentionReport, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Write down the faults of each row, those of the worst kind of layer."""
    places: dict[tuple[int, str], dict[str, Any]] = {}
    for row in report.rows:
        for fault, pair in row.first.items():
            if fault == "other sample" and not row.sure:
                continue
            share = row.share(fault)
            known = places.get((row.row, fault))
            if known is None or share > known["share"]:
                places[row.row, fault] = {
                    "row": row.row,
                    "fault": fault,
                    "kind": row.kind,
                    "share": round(share, 6),
                    "tokens": row.queries[fault],
                    "query": pair.query,
                    "key": pair.key,
                    "told_by": report.documents[row.row].told_by,
                }
    return {
        "places": list(places.values())[:PLACES],
        "implementation": report.implementation,
        "mask": inputs.get("attention_mask") is not None,
        "cache": inputs.get("use_cache") is not False,
        "positions": inputs.get("position_ids") is not None,
    }
