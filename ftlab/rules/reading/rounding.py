"""Which weights rounding keeps where they are, for good.

In one update a bf16 weight that is rounded back looks like one whose optimizer keeps
the remainder for later. Let ``s`` be the share that an update leaves in place: after
``d`` updates a share of ``s ** d`` would be untouched if other weights moved each time,
and ``s`` if it were the same ones for ever.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import group_of
from ftlab.runlog.run import Run

Bools = NDArray[np.bool_]

REACH, FARTHEST = 32, 128
"""Steps that the comparison must look back, and may: farther back, weights that go to
and fro have come back to where they were."""

LOST = 0.1
"""Share of the way from "for ever" to "others each time", on a log scale.

Measured: 1 / d where the same weights stay; rounded by chance 0.21 for d = 32, 0.13 for
128 and 0.11 for 190, in the least of the tensors of a small Llama.
"""

PLAIN = ("torch.optim", "transformers.optimization", "bitsandbytes.optim")
"""Modules whose optimizers round an update to the nearest and keep no remainder."""


def rounded_away(
    run: Run, ids: NDArray[np.int32], names: Sequence[NameRecord]
) -> Bools:
    """Mark the tensors whose lost updates are known to be lost for good.

    An optimizer that is known to add up plainly needs no further proof; of another one
    the weights must have been seen to stay over `REACH` steps.
    """
    plain = _plain_groups(run)
    proven = [plain.get(group_of(name), True) for name in names]
    return np.asarray(np.array(proven, bool) | _lasting(run, ids), bool)


def _plain_groups(run: Run) -> dict[int, bool]:
    """Tell of each group, counted over all optimizers, whether it adds up plainly."""
    found: dict[int, bool] = {}
    for optimizer in run.facts.optimizers:
        module = str(optimizer.get("module", PLAIN[0]))
        for _ in optimizer.get("groups", ()):
            found[len(found)] = module.startswith(PLAIN)
    return found


def _lasting(run: Run, ids: NDArray[np.int32]) -> Bools:
    """Mark tensors of which the same elements stayed where they were."""
    if not {"still_share", "still_steps", "stuck_share"} <= set(run.columns()):
        return np.zeros(len(ids), bool)
    still = _still(run)
    stuck = run.matrix("stuck_share").measured()
    marked = []
    for row, values in zip(stuck.ids.tolist(), stuck.values.T, strict=True):
        known = values[np.isfinite(values)]
        share, steps = still.get(row, (0.0, 0.0))
        if len(known) and share > 0:
            each_time = -steps * np.log(max(float(np.median(known)), 1e-6))
            if -np.log(share) <= LOST * each_time:
                marked.append(row)
    return np.isin(ids, marked)


def _still(run: Run) -> dict[int, tuple[float, float]]:
    """Return share and steps of each tensor's shortest look back within the reach.

    The shortest, for weights that go to and fro come back to where they were.
    """
    share, steps = run.matrix("still_share"), run.matrix("still_steps")
    found = {}
    for column, row in enumerate(share.ids.tolist()):
        back = steps.values[:, column].copy()
        within = (back >= REACH) & (back <= FARTHEST)
        back[~(np.isfinite(share.values[:, column]) & within)] = np.inf
        line = int(back.argmin()) if len(back) else 0
        if len(back) and np.isfinite(back[line]):
            found[row] = float(share.values[line, column]), float(back[line])
    return found
