"""Passes beside the training pass that give what it gives, and the loss beside them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftlab.rules.reading.adapter_states import KEY, State, states_of
from ftlab.runlog.run import Run

KINDS = {"same_by_copy": "copy", "same_by_base": "base", "same_passes": "same-object"}
"""Columns of the steps, and the reasons that they stand for."""

MEASURED = 2
"""Measured steps after the first one at which a pass must have been repeated."""

SHARE = 0.5
"""Share of the measured steps at which it must have been."""

EXACTLY, ROUNDED = 1e-5, 4e-3
"""Relative distance within which a loss is one and the same number, and is log 2 where
it is the same bit for bit: as bfloat16 has it."""

STEPS, MOST = 4, 64
"""Steps that show a loss to be constant; and of how many such one may be the sum."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A pass that repeats the training pass from step to step.

    Attributes
    ----------
    reason
        Through what it was run; one of `KINDS`.
    steps
        The measured steps at which it was.
    measured
        How many steps were measured.
    """

    reason: str
    steps: tuple[int, ...]
    measured: int


def repeated_passes(run: Run) -> list[Repeated]:
    """Return what repeats the training pass after updates, by the way it was run."""
    table, found = run.steps, []
    for column, reason in KINDS.items():
        if column not in table.columns:
            continue
        known = table.known(column)
        at = known & (np.nan_to_num(table[column]) > 0)
        later = at.copy()
        later[: int(np.argmax(known)) + 1] = False
        enough = later.sum() >= MEASURED and at.sum() >= SHARE * known.sum()
        if enough:
            steps = tuple(int(step) for step in table.step[at])
            found.append(Repeated(reason, steps, int(known.sum())))
    return found


def loss_of_no_margin(run: Run) -> float | None:
    """Return the loss, if it is log 2 at each step of what is seen, or times a number.

    That is the logistic loss of a margin of 0. Another constant proves less: rewards
    that are all alike give policy gradients one. Nor does it count where no output
    moves.
    """
    table = run.steps
    if not {"loss", "outputs_moved"} <= set(table.columns):
        return None
    loss, moved = table["loss"], table["outputs_moved"][table.known("outputs_moved")]
    if len(loss) < STEPS or not np.isfinite(loss).all() or not moved.all():
        return None
    value, spread = float(np.median(loss)), float(np.ptp(loss))
    times = value / math.log(2)
    within = EXACTLY if spread else ROUNDED
    is_log_2 = 1 <= round(times) <= MOST and abs(times / round(times) - 1) < within
    return value if is_log_2 and spread <= EXACTLY * abs(value) else None


def switched_off(run: Run) -> list[int]:
    """List the steps with a pass without a graph, all adapter layers of it off."""
    states = states_of(run)
    found = {
        entry.step
        for entry in run.ledger
        if entry.op == "forward"
        and not entry.detail.get("grad_enabled")
        and _is_off(states.get(int(entry.detail.get(KEY, -1))))
    }
    return sorted(found)


def _is_off(state: State | None) -> bool:
    return state is not None and 0 < state.layers == len(state.disabled)


def most(steps: Sequence[int], run: Run) -> bool:
    """Tell whether these are most of the steps, and more than one."""
    return len(steps) > 1 and len(steps) >= SHARE * len(run.steps)
