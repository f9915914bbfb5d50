"""What users' probes returned during a step, made into rows of table ``user``."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Reading
from ftlab.probes.user.user_probe import Number, UserProbe
from ftlab.records.names import NameKind
from ftlab.records.step import Block, Column

TABLE = "user"

COLUMNS = (
    Column("value", "1", "What the probe returned; the mean over the step's calls."),
    Column("low", "1", "The smallest value that it returned in the step."),
    Column("high", "1", "The largest value that it returned in the step."),
    Column("calls", "1", "How often it returned a value in the step."),
)

LIMIT = 65_536
"""Values of one step that are kept; a step that never ends must not fill the memory."""


class Place(NamedTuple):
    """Where a probe looked: ``model.layers.0.mlp.post``, or a moment of the step."""

    name: str
    kind: NameKind


class Seen(NamedTuple):
    """One number that a probe returned.

    Attributes
    ----------
    key
        Its key in the dict that was returned; ``""`` when a number was.
    """

    probe: UserProbe
    place: Place
    key: str
    value: Number


def readings_of(moment: Moment, seen: Sequence[Seen]) -> list[Reading]:
    """Queue what was seen for reading, by device."""
    by_device: dict[torch.device, list[Seen]] = {}
    for each in seen:
        device = torch.device("cpu")
        if isinstance(each.value, torch.Tensor):
            device = each.value.device
        by_device.setdefault(device, []).append(each)
    return [_reading(moment, group) for group in by_device.values()]


def _reading(moment: Moment, seen: list[Seen]) -> Reading:
    names: dict[tuple[UserProbe, Place, str], int] = {}
    for each in seen:
        if each[:3] not in names:
            names[each[:3]] = _row(moment, each)
    rows = np.array([names[each[:3]] for each in seen], np.int32)
    ids, positions = np.unique(rows, return_inverse=True)
    return Reading(_joined(seen), _finish(moment.step, ids, positions))


def _row(moment: Moment, seen: Seen) -> int:
    dotted = f".{seen.key}" if seen.key else ""
    meta = {
        "probe": seen.probe.name,
        "point": seen.probe.point.text,
        "place": seen.place.name,
        "key": seen.key,
    }
    name = f"{seen.place.name} {seen.probe.name}{dotted}"
    return moment.name(TABLE, name, seen.place.kind, meta)


def _joined(seen: Sequence[Seen]) -> torch.Tensor:
    """Put numbers of the host, or of one device, into one vector, in order."""
    tensors = [each.value for each in seen if isinstance(each.value, torch.Tensor)]
    if not tensors:
        numbers = [each.value for each in seen]
        return torch.tensor(numbers, dtype=torch.float32, device="cpu")
    if len(tensors) == len(seen):
        return torch.stack(tensors)
    numbers = [float(each.value) for each in seen]
    return torch.tensor(numbers, dtype=torch.float32, device="cpu")


def _finish(
    step: int, ids: NDArray[np.int32], positions: NDArray[np.intp]
) -> Callable[[NDArray[np.float32]], Iterable[Block]]:
    def finish(values: NDArray[np.float32]) -> Iterable[Block]:
        calls = np.bincount(positions, minlength=len(ids))
        low, high = np.full(len(ids), np.inf), np.full(len(ids), -np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            mean = np.bincount(positions, values.astype(float), len(ids)) / calls
            np.minimum.at(low, positions, values)
            np.maximum.at(high, positions, values)
            columns = {"value": mean, "low": low, "high": high, "calls": calls}
            narrow = {name: each.astype(np.float32) for name, each in columns.items()}
        yield Block(TABLE, step, ids, narrow)

    return finish
