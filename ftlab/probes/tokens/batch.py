"""What a step was fed: tokens, padding and labels, summed over its micro-batches."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.tensors.host import as_array
from ftlab.records.attributes import attribute_of
from ftlab.records.step import Column

IGNORED_LABEL = -100
"""The label that the losses of torch and transformers leave out."""


@dataclass(slots=True)
class _Step:
    """What the micro-batches of one step have shown so far.

    What shapes tell is counted on the host, what only values tell on the device.
    """

    step: int
    rows: int = 0
    longest: int = 0
    positions: int = 0
    attended: int = 0
    labels: int = 0
    device: dict[str, torch.Tensor] = field(default_factory=dict)
    host: dict[str, float] = field(default_factory=dict)

    def add_labels(self, labels: torch.Tensor) -> None:
        """Add those that are left out, and whether all of the micro-batch are."""
        ignored = (as_array(labels) == IGNORED_LABEL).sum()
        self.labels += labels.numel()
        self.add("ignored", ignored)
        self.add("unlabelled", 1 * (ignored == labels.numel()))

    def add(self, name: str, count: Any) -> None:
        """Add what was counted in one micro-batch, where it lies."""
        if not isinstance(count, torch.Tensor):
            self.host[name] = self.host.get(name, 0.0) + float(count)
            return
        known = self.device.get(name)
        if known is not None:
            count = known + count.to(known.device, non_blocking=True)
        self.device[name] = count

    def values(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Put what was counted and what shapes tell together."""
        values: dict[str, float] = {"batch_size": self.rows}
        if self.positions:
            tokens = self.attended + counts.get("tokens", 0)
            values["tokens"] = tokens
            values["padding"] = self.positions - tokens
            values["sequence"] = self.longest
        if "ignored" in counts:
            values["ignored"] = counts["ignored"]
            values["labels"] = self.labels - counts["ignored"]
            values["unlabelled"] = counts["unlabelled"]
        return values


class Batches(Probe):
    """Count what each step is fed, on the device where the batch is.

    Parameters
    ----------
    seconds_of
        Gives a finished step's duration, see `ftlab.probes.machine.throughput`.
    """

    name: ClassVar[str] = "batch"
    columns: ClassVar[Sequence[Column]] = (
        Column("tokens", "tokens", "Positions that the model attends to."),
        Column("padding", "tokens", "Positions that it does not attend to."),
        Column("labels", "tokens", "Positions with a label that counts in the loss."),
        Column("ignored", "tokens", "Positions with the label -100."),
        Column("unlabelled", "1", "Micro-batches with labels of which none counts."),
        Column("batch_size", "1", "Rows of all micro-batches together."),
        Column("sequence", "tokens", "Length of the longest row, padding included."),
        Column("tokens_per_second", "tokens/s", "Attended positions per second."),
    )

    def __init__(self, seconds_of: Callable[[int], float | None] | None = None) -> None:
        self._seconds_of = seconds_of or (lambda _: None)
        self._open = _Step(-1)

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Count one micro-batch."""
        if self._open.step != moment.step:
            self._open = _Step(moment.step)
        fields = batch_fields(inputs)
        _count_positions(self._open, fields, moment.subject)
        labels = fields.get("labels")
        if labels is not None and not labels.is_floating_point():
            self._open.add_labels(labels)
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over the sums of the micro-batches so far; the last reading counts."""
        done = self._open
        if done.step != moment.step:
            return []
        names = list(done.device)
        device = next((count.device for count in done.device.values()), None)
        counts = [c.to(device, torch.float32) for c in done.device.values()]

        def finish(flat: NDArray[np.float32]) -> Iterable[dict[str, float]]:
            found = dict(zip(names, flat.tolist(), strict=True))
            for name, count in done.host.items():
                found[name] = found.get(name, 0.0) + count
            values = done.values(found)
            seconds = self._seconds_of(done.step)
            if seconds and "tokens" in values:
                values["tokens_per_second"] = values["tokens"] / seconds
            yield values

        nothing = torch.zeros(0, device="cpu")
        return [Reading(torch.stack(counts) if counts else nothing, finish)]


def batch_fields(inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Find the tensors of a batch, also where a whole batch is one of the arguments."""
    found: dict[str, torch.Tensor] = {}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            found.setdefault(str(name), value)
        elif isinstance(value, Mapping):
            for inner, tensor in batch_fields(value).items():
                found.setdefault(inner, tensor)
    return found


def _count_positions(
    open_step: _Step, fields: Mapping[str, torch.Tensor], subject: Subject
) -> None:
    """Add tokens, padding, rows and length."""
    ids, embeddings = fields.get("input_ids"), fields.get("inputs_embeds")
    positions = ids if ids is not None else embeddings
    if positions is None:
        first = next((t for t in fields.values() if t.dim()), None)
        open_step.rows += 0 if first is None else first.shape[0]
        return
    rows, length = _rows_and_length(positions, ids is None)
    open_step.rows += rows
    open_step.longest = max(open_step.longest, length)
    open_step.positions += rows * length
    tokens = _tokens(fields.get("attention_mask"), ids, (rows, length), subject)
    if tokens is None:
        open_step.attended += rows * length
    else:
        open_step.add("tokens", tokens.sum())


def _rows_and_length(positions: torch.Tensor, embedded: bool) -> tuple[int, int]:
    shape = positions.shape[:-1] if embedded else positions.shape
    return (1 if len(shape) < 2 else int(shape[0])), int(shape[-1]) if shape else 1


def _tokens(
    mask: torch.Tensor | None,
    ids: torch.Tensor | None,
    shape: tuple[int, int],
    subject: Subject,
) -> Any:
    """Mark attended positions; ``None`` where every one is."""
    if mask is not None and mask.shape == shape:
        return as_array(mask) != 0
    pad = _padding_id(subject)
    if mask is None and ids is not None and pad is not None:
        return as_array(ids) != pad
    return None


def _padding_id(subject: Subject) -> int | None:
    """Find the id that only padding has; ``None`` where it also ends a text."""
    for source in (subject.tokenizer, attribute_of(subject.model, "config")):
        pad = getattr(source, "pad_token_id", None)
        if isinstance(pad, int):
            ends = getattr(source, "eos_token_id", None)
            ends = ends if isinstance(ends, list | tuple) else (ends,)
            return None if pad in ends or pad < 0 else pad
    return None
