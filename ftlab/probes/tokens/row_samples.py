"""Which tokens some samples of the batches really train: facts for the rules.

Who calls whom: `RowSamples.on_batch` copies some rows of a batch on its device; one
step late `ftlab.probes.tokens.sample_reading` makes facts of them, which are written
down as an event. Of a sample's text its first and last eight tokens are kept, as ids
and pieces, the seven where its training begins, two at each other place where its
prompt may end, and the places of control tokens: no sample can be read from them.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.model.pooling import pooling_pads
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import Samples
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokens.batch import batch_fields
from ftlab.probes.tokens.border_guesses import border_guesses
from ftlab.probes.tokens.copied_rows import copied_rows
from ftlab.probes.tokens.narrow_ids import id_facts
from ftlab.probes.tokens.piece_names import piece_names
from ftlab.probes.tokens.round_trips import round_trips
from ftlab.probes.tokens.sample_reading import Columns, Row, samples_in_batch
from ftlab.probes.tokens.spelled_marks import spelled_marks
from ftlab.records.attributes import attribute_of
from ftlab.records.event import Event
from ftlab.records.handle import Handle
from ftlab.records.sample_facts import SampleFacts, SeenSamples
from ftlab.records.token_row import IGNORED

COLUMNS = ("input_ids", "labels", "attention_mask", "position_ids")


class RowSamples(Probe):
    """Write down what some samples of the batches hold, at first and then seldom."""

    light = False
    rows: ClassVar[int] = 16
    """Rows of one step that are looked at."""
    positions: ClassVar[int] = 1 << 17
    """Positions of one step that are looked at, at most."""

    def __init__(self, interval: int = 16) -> None:
        self._due = Samples(8 * interval)
        self._tokenizer: Any = None
        self._special: dict[str, frozenset[int]] | None = None
        self._step = -1
        self._held: list[tuple[torch.Tensor, tuple[str, ...]]] = []
        self._rows = 0
        self._positions = 0

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin with nothing seen."""
        self._tokenizer, self._special, self._held = subject.tokenizer, None, []
        self._step = -1
        return ()

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Copy the first rows of a micro-batch, where the step is due."""
        step = moment.step
        if not self._due(step):
            return ()
        if step != self._step:
            self._step, self._held, self._rows, self._positions = step, [], 0, 0
        if self._special is None:
            self._special = special_ids(self._tokenizer, moment.subject.model)
        fields = batch_fields(inputs)
        if _answers_apart(moment.subject.model):
            fields = _answers(fields, self._special.get("pad", frozenset()))
        ids = fields.get("input_ids")
        if ids is None or ids.dim() != 2 or ids.is_floating_point() or not ids.numel():
            self._held.append((torch.zeros(0), ()))
            return ()
        room = min(
            self.rows - self._rows,
            (self.positions - self._positions) // ids.shape[1],
        )
        count = max(0, min(len(ids), room))
        names = tuple(n for n in COLUMNS if _fits(fields.get(n), ids))
        self._rows += count
        self._positions += count * ids.shape[1]
        chosen = [
            fields[n].detach().expand(ids.shape)[:count].to(ids.device, torch.float32)
            for n in names
        ]
        self._held.append((torch.stack(chosen), names))
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over the rows of all micro-batches; the last reading counts."""
        held, step = [*self._held], moment.step
        if self._step != step or not self._rows:
            return ()
        shapes = [(tuple(values.shape), names) for values, names in held]
        device = next(values.device for values, names in held if names)
        flat = torch.cat([values.flatten().to(device) for values, _ in held])

        def finish(read: NDArray[np.float32]) -> Iterable[Event]:
            return self._tell(list(_columns(read, shapes)), step)

        return (Reading(flat, finish),)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of the rows."""
        self._held, self._rows = [], 0
        return {}

    def _tell(self, rows: Sequence[Row], step: int) -> Iterable[Event]:
        """Make an event of rows that have arrived."""
        yield rows_event(rows, self._special or {}, self._tokenizer, step)


def rows_event(
    rows: Sequence[Row],
    special: Mapping[str, frozenset[int]],
    tokenizer: Any,
    step: int,
) -> Event:
    """Make one event of all samples in some rows."""
    held = {(micro, number): columns.ids for micro, number, columns in rows}
    samples = [
        replace(each, guesses=tuple(border_guesses(each, ids, special, tokenizer)))
        for each in samples_in_batch(rows, special)
        for ids in [held[each.micro_batch, each.row]]
    ]
    texts = [(s, held[s.micro_batch, s.row][s.start : s.end]) for s in samples]
    named = {n: ids for n, ids in special.items() if n != "control"}
    pieces = _pieces(tokenizer, samples, frozenset().union(*named.values()))
    stops = special.get("stop", frozenset())
    marks = spelled_marks(texts, tokenizer, stops) if stops else ()
    ids = id_facts(texts, special, tokenizer)
    copied = tuple(copied_rows(rows))
    trip = round_trips(texts, special, tokenizer)
    seen = SeenSamples(step, tuple(samples), named, pieces, marks, ids, copied, trip)
    words = f"{len(samples)} samples of the batch were looked at"
    return Event("rows", step, time.time(), words, seen.as_json())


def _columns(
    read: NDArray[np.float32],
    shapes: Sequence[tuple[tuple[int, ...], tuple[str, ...]]],
) -> Iterator[Row]:
    begin = 0
    for micro, (shape, names) in enumerate(shapes):
        size = int(np.prod(shape))
        values = read[begin : begin + size].reshape(shape).astype(np.int64)
        begin += size
        for row in range(shape[1] if names else 0):
            known = {n: values[i, row] for i, n in enumerate(names)}
            columns = Columns(
                known["input_ids"],
                known.get("labels"),
                known.get("attention_mask"),
                known.get("position_ids"),
            )
            yield micro, row, columns


def _answers_apart(model: torch.nn.Module) -> bool:
    """Tell whether what is trained stands in rows of its own, behind a decoder."""
    config = attribute_of(innermost(model), "config", None)
    return bool(getattr(config, "is_encoder_decoder", False))


def _answers(
    fields: Mapping[str, torch.Tensor], pad: frozenset[int]
) -> dict[str, torch.Tensor]:
    """Take labels for the text that is trained, with padding where none counts."""
    labels = fields.get("labels")
    if labels is None or labels.is_floating_point() or not pad:
        return {}
    ids = torch.where(labels == IGNORED, min(pad), labels)
    return {"input_ids": ids, "labels": labels}


def _fits(values: torch.Tensor | None, ids: torch.Tensor) -> bool:
    if values is None or values.is_floating_point() or values.dim() != 2:
        return False
    return values.shape[1] == ids.shape[1] and values.shape[0] in {1, ids.shape[0]}


def special_ids(
    tokenizer: Any, model: torch.nn.Module | None
) -> dict[str, frozenset[int]]:
    """Give the ids that mean something, by what they mean.

    ``"generation"`` are the ids at which ``generate`` ends: those of the generation
    config, or else of the model's config; ``"stop"`` holds the tokenizer's EOS as well,
    ``"control"`` all tokens that no text can make, and ``"pooling"`` what a classifier
    takes for padding.
    """
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    root = None if model is None else innermost(model)
    config = attribute_of(root, "config")
    generation = attribute_of(root, "generation_config")
    found = {
        kind: _ids(getattr(inner, f"{kind}_token_id", None))
        or _ids(getattr(config, f"{kind}_token_id", None))
        for kind in ("bos", "eos", "pad", "unk")
    }
    generates = _ids(getattr(generation, "eos_token_id", None))
    found["generation"] = generates or _ids(getattr(config, "eos_token_id", None))
    found["stop"] = found["generation"] | found["eos"]
    found["control"] = frozenset().union(*found.values(), _added(inner))
    found["pooling"] = frozenset() if model is None else pooling_pads(model)
    return {kind: ids for kind, ids in found.items() if ids}


def _ids(value: object) -> frozenset[int]:
    several = value if isinstance(value, list | tuple) else [value]
    return frozenset(each for each in several if type(each) is int and each >= 0)


def _added(tokenizer: Any) -> frozenset[int]:
    """Give the ids of tokens that were added to a vocabulary as special ones."""
    known = getattr(tokenizer, "added_tokens_decoder", None)
    if not isinstance(known, Mapping):
        return frozenset()
    return frozenset(n for n, token in known.items() if getattr(token, "special", 0))


def _pieces(
    tokenizer: Any, samples: Iterable[SampleFacts], special: frozenset[int]
) -> dict[int, str]:
    wanted = set(special)
    for each in samples:
        wanted.update(each.head, each.tail, each.border)
        wanted.update(control.id for control in each.controls)
        wanted.update(number for told in each.guesses for number in told.closing)
        if each.twice is not None:
            wanted.update(each.twice.first, each.twice.second)
    return piece_names(tokenizer, sorted(each for each in wanted if each >= 0))
