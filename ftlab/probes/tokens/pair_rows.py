"""Which rows of a batch are the same as those that they are compared with.

In preference training each chosen text stands against a rejected one: as halves of a
batch, as neighbours in it, or in two forwards of a step. Nobody says which, so all
three are compared, on the device. Written down are counts, lengths and places, and of
an equal pair its last id; nothing at all where no pair is equal.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.probes.tokens.batch import batch_fields
from ftlab.records.event import Event
from ftlab.records.handle import Handle
from ftlab.records.pair_facts import EqualPair, SeenPairs

KEPT = 16
"""Equal pairs of a step whose places are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Rows of one forward, and where they hold text."""

    ids: torch.Tensor
    held: torch.Tensor

    def part(self, rows: slice) -> "Texts":
        """Return some of the rows."""
        return Texts(self.ids[rows], self.held[rows])


@dataclass(frozen=True, slots=True)
class Laid:
    """How pairs lie: the form, and the places of the first and of the second row."""

    form: str
    first: tuple[tuple[int, int], ...]
    second: tuple[tuple[int, int], ...]


class PairRows(Probe):
    """Write down the pairs of rows that have the same tokens."""

    positions: ClassVar[int] = 1 << 17
    """Positions of one step that are compared, at most."""

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)
        self._step = -1
        self._micro = self._positions = 0
        self._found: list[tuple[Laid, torch.Tensor]] = []
        self._before: Texts | None = None
        self._seen: dict[str, SeenPairs] = {}

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin with nothing seen."""
        self._step, self._seen = -1, {}
        self._found, self._before = [], None
        return ()

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Compare the rows of a micro-batch, where the step is due."""
        if moment.step != self._step:
            self._step, self._found, self._before = moment.step, [], None
            self._micro = self._positions = 0
        texts = _texts(batch_fields(inputs))
        if texts is not None and self._positions + texts.ids.numel() <= self.positions:
            self._positions += texts.ids.numel()
            self._compare(texts, self._micro)
        else:
            self._before = None
        self._micro += 1
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over what was found in all micro-batches; the last reading counts."""
        found, step = [*self._found], moment.step
        if self._step != step or not found:
            return ()
        device = found[0][1].device
        flat = torch.cat([values.flatten().to(device) for _, values in found])

        def finish(read: NDArray[np.float32]) -> Iterator[Event]:
            yield from self._tell([laid for laid, _ in found], read, step)

        return (Reading(flat, finish),)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of the rows."""
        self._found, self._before = [], None
        return {}

    def _compare(self, texts: Texts, micro: int) -> None:
        rows, half = len(texts.ids), len(texts.ids) // 2
        places = [(micro, row) for row in range(rows)]
        if rows % 2 == 0:
            laid = Laid("halves", tuple(places[:half]), tuple(places[half:]))
            first, second = texts.part(slice(half)), texts.part(slice(half, None))
            self._found.append((laid, compared(first, second)))
        if rows % 2 == 0 and half > 1:
            laid = Laid("neighbours", tuple(places[::2]), tuple(places[1::2]))
            first = texts.part(slice(0, None, 2))
            second = texts.part(slice(1, None, 2))
            self._found.append((laid, compared(first, second)))
        before = self._before
        if before is not None and len(before.ids) == rows:
            earlier = tuple((micro - 1, row) for row in range(rows))
            laid = Laid("forwards", earlier, tuple(places))
            on = texts.ids.device
            before = Texts(before.ids.to(on), before.held.to(on))
            self._found.append((laid, compared(before, texts)))
            self._before = None
        else:
            self._before = Texts(texts.ids.clone(), texts.held.clone())

    def _tell(
        self, all_laid: Sequence[Laid], read: NDArray[np.float32], step: int
    ) -> Iterator[Event]:
        begin, some = 0, dict[str, list[EqualPair]]()
        now: dict[str, list[NDArray[np.float32]]] = {}
        for laid in all_laid:
            size = 5 * len(laid.first)
            values = read[begin : begin + size].reshape(5, -1)
            begin += size
            now.setdefault(laid.form, []).append(values)
            some.setdefault(laid.form, []).extend(_equal(laid, values))
        for form, each in now.items():
            seen = self._seen.get(form, SeenPairs(form, 0, 0, 0, 0, 0))
            self._seen[form] = _added(seen, np.concatenate(each, 1), some[form])
        told = [s.as_json() for s in self._seen.values() if s.form in now and s.some]
        if told:
            words = f"{max(len(each['some']) for each in told)} pairs of rows are equal"
            yield Event("pairs", step, time.time(), words, {"forms": told})


def compared(first: Texts, second: Texts) -> torch.Tensor:
    """Compare rows one by one.

    Returns
    -------
    torch.Tensor
        Float32 on their device, a column for each pair: whether they are equal, tokens
        of the first, tokens of the second, how many are the same at the beginning, and
        the last id of the first.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.tokens.pair_rows import Texts, compared
    >>> one, two = (torch.tensor([row]) for row in ([5, 6, 7], [5, 6, 8]))
    >>> held = torch.ones(1, 3, dtype=torch.bool)
    >>> compared(Texts(one, held), Texts(two, held)).flatten().tolist()
    [0.0, 3.0, 3.0, 2.0, 7.0]
    """
    width = min(first.ids.shape[1], second.ids.shape[1])
    lengths = first.held.sum(1), second.held.sum(1)
    left, right = (
        _same(first, second, cut) for cut in (slice(width), slice(-width, None))
    )
    equal = (left.all(1) | right.all(1)) & (lengths[0] == lengths[1])
    shared = (left.cumprod(1).bool() & first.held[:, :width]).sum(1)
    places = torch.arange(first.ids.shape[1], device=first.ids.device)
    last = torch.where(first.held, places, 0).amax(1, keepdim=True)
    ended = first.ids.gather(1, last)[:, 0]
    found = (equal & (lengths[0] > 0), *lengths, shared, ended)
    return torch.stack([each.to(torch.float32) for each in found])


def _same(first: Texts, second: Texts, cut: slice) -> torch.Tensor:
    """Tell by position whether both hold the same token, or none."""
    held = first.held[:, cut]
    same = first.ids[:, cut] == second.ids[:, cut]
    return (same | ~held) & (held == second.held[:, cut])


def _texts(fields: Mapping[str, torch.Tensor]) -> Texts | None:
    ids, mask = fields.get("input_ids"), fields.get("attention_mask")
    if ids is None or ids.dim() != 2 or ids.is_floating_point() or not ids.numel():
        return None
    ids = ids.detach()
    if mask is None or mask.shape != ids.shape:
        return Texts(ids, torch.ones_like(ids, dtype=torch.bool))
    return Texts(ids, mask.detach().to(ids.device) != 0)


def _equal(laid: Laid, values: NDArray[np.float32]) -> Iterator[EqualPair]:
    for at in np.flatnonzero(values[0]).tolist():
        (micro, row), (other_micro, other) = laid.first[at], laid.second[at]
        length, last = int(values[1, at]), int(values[4, at])
        yield EqualPair(row, micro, other, other_micro, length, last)


def _added(
    seen: SeenPairs, values: NDArray[np.float32], some: Sequence[EqualPair]
) -> SeenPairs:
    equal = values[0] > 0
    alike = ~equal & (values[3] > 1)
    return SeenPairs(
        seen.form,
        seen.pairs + len(equal),
        seen.equal + int(equal.sum()),
        seen.alike + int(alike.sum()),
        max(seen.longest, int(values[1:3].max())),
        seen.whole_steps + int(equal.all()),
        tuple(some[:KEPT]),
    )
