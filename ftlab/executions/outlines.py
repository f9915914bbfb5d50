"""What a comparison keeps of its executions, in plain values."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.executions.floors import Ratios
from ftlab.executions.passes import is_output
from ftlab.executions.runs import Runs
from ftlab.executions.tokens import Grid
from ftlab.records.difference import Row


def outcome(free: Ratios) -> float:
    """Return the largest ratio of what the model returns, of its tokens if it can be.

    A single number, such as the loss, may agree by chance: it counts where there is
    nothing else.
    """
    found = [
        ratio for place, ratio in free.values.items() if is_output(place) and len(ratio)
    ]
    many = [ratio for ratio in found if len(ratio) > 1]
    return max((float(r.max()) for r in many or found), default=float("nan"))


def tokens_of(grid: Grid | None) -> NDArray[np.int64]:
    """Return row and position of each token, shape (tokens, 2)."""
    if grid is None:
        return np.zeros((0, 2), np.int64)
    return torch.stack((grid.rows, grid.positions), 1).numpy().astype(np.int64)


def beyond(grid: Grid | None, ratios: torch.Tensor, limit: float) -> NDArray[np.int64]:
    """Return row and position of the tokens whose ratio is above a limit."""
    if grid is None or len(ratios) != len(grid.rows):
        return np.zeros((0, 2), np.int64)
    return tokens_of(grid)[(ratios > limit).numpy()]


def rows(free: Ratios, born: Ratios | None = None) -> Iterator[Row]:
    """Yield what each tensor of both executions is apart.

    Parameters
    ----------
    free, born
        Each side on its own, and both given the same, if that was measured.
    """
    for phase in ("values", "gradients"):
        carried, local = getattr(free, phase), getattr(born, phase, {})
        distances = getattr(free.found, phase)
        for place in distances.apart:
            size = distances.sizes[place].clamp(min=1e-30)
            yield Row(
                place.module,
                place.call,
                place.kind,
                place.path,
                phase="forward" if phase == "values" else "backward",
                born=_largest(local.get(place)),
                carried=_largest(carried.get(place)),
                relative=_largest(distances.apart[place] / size),
            )


def _largest(values: torch.Tensor | None) -> float:
    return float("nan") if values is None or not len(values) else float(values.max())


def heat(free: Ratios) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return modules, and what their outputs are apart by token."""
    rows: dict[str, torch.Tensor] = {}
    for place, ratio in free.values.items():
        if place.kind == "out" and len(ratio) > 1 and place.module not in rows:
            rows[place.module or "the model"] = ratio
    lengths = {len(ratio) for ratio in rows.values()}
    if len(lengths) != 1:
        return (), np.zeros((0, 0))
    return tuple(rows), torch.stack([*rows.values()]).numpy()


def logits(runs: Runs) -> tuple[NDArray[np.float64], int]:
    """Return KL by token, and the first token with another most likely successor."""
    place = next((p for p in runs.outputs.values if p.path in ("logits", "1")), None)
    kept = None if place is None else runs.tape.values.get(place)
    if kept is None or place is None:
        return np.zeros(0), -1
    theirs = runs.outputs.spool.get(runs.outputs.values[place])
    cells = runs.meeting.cells(runs.tape.spool.get(kept), theirs)
    if not cells or cells[0].shape[0] == 1:
        return np.zeros(0), -1
    a, b = (side.double().log_softmax(-1) for side in cells)
    other = (a.argmax(-1) != b.argmax(-1)).nonzero().flatten()
    kl = (a.exp() * (a - b)).sum(-1).clamp(min=0)
    return kl.numpy(), int(other[0]) if len(other) else -1


def alone(runs: Runs) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the modules that one side alone has, for each side."""
    theirs = {place.module for place in runs.freely.values.apart}
    mine = dict.fromkeys(p.module for p in runs.tape.values if p.module not in theirs)
    return tuple(mine), tuple(runs.freely.alone)
