"""Steps at which adapters were set back to adding nothing, as gradients tell it.

What PEFT methods add is a product of which one factor starts at 0. While it is 0 the
gradients of the other factors are exactly 0, and its own is not. After it was trained
that happens only when somebody sets it back. A vector of IA3 is back at exactly 1.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.rules.reading.frozen import changes_of
from ftlab.rules.reading.tensors import text_of
from ftlab.runlog.run import Run

Bools = NDArray[np.bool_]

MOST = 0.5
"""Share of an adapter's layers that must be set back at one step."""

ON_PURPOSE = frozenset(
    ("merge", "unload", "save", "load_adapter", "add_adapter", "delete_adapter")
)
"""Operations after which nothing is lost by beginning anew."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """When and where one adapter began anew.

    Attributes
    ----------
    steps
        The steps whose forward ran with the adapter set back, in order.
    modules
        The layers that were set back, in the model's order.
    layers
        How many layers the adapter has.
    """

    steps: tuple[int, ...]
    modules: tuple[str, ...]
    layers: int


def restarts_of(run: Run) -> dict[str, Restarts]:
    """Return the restarts of each adapter by which something was lost."""
    steps, found = _products(run)
    if not found:
        steps, found = _vectors(run)
    excused, seen = _excused(run), _compared_until(run)
    merged = {change.layer for change in changes_of(run) if not change.by_rounding}
    restarts = {}
    for adapter, modules in found.items():
        together = np.mean(list(modules.values()), axis=0) >= MOST
        lost = [int(s) for s in steps[together] if s <= seen and int(s) not in excused]
        # What was added to the base by hand is not lost either.
        if lost and merged.isdisjoint(modules):
            names = tuple(name for name, at in modules.items() if (at & together).any())
            restarts[adapter] = Restarts(tuple(lost), names, len(modules))
    return restarts


def _compared_until(run: Run) -> float:
    """Return the last step at which the base is known; light steps do not look."""
    table = run.steps
    if "light" not in table or "frozen_compared" not in table:
        return np.inf
    return float(table.step[table.known("frozen_compared")].max(initial=-1))


def _products(run: Run) -> tuple[NDArray[np.int64], dict[str, dict[str, Bools]]]:
    """Mark, by adapter and module, where a trained product was 0 again."""
    matrix, has = run.matrix("grad_l2"), run.matrix("has_grad")
    found: dict[str, dict[str, Bools]] = defaultdict(dict)
    if matrix.shape != has.shape:
        return matrix.steps, {}
    got = has.known & (has.values > 0)
    names = run.names()
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for column, row in enumerate(matrix.ids.tolist()):
        name = names.get(row)
        # A small gradient is 0 in float16 as well.
        if name is None or name.dtype == "float16":
            continue
        adapter, role = text_of(name, "adapter"), text_of(name, "role")
        if adapter and role not in ("modules_to_save", "lora_bias", "lora_magnitude"):
            groups[adapter, text_of(name, "module")].append(column)
    for (adapter, module), columns in groups.items():
        if len(columns) > 1:
            values = matrix.values[:, columns]
            found[adapter][module] = _back(values, got[:, columns])
    return matrix.steps, {a: m for a, m in found.items() if _any_of(m)}


def _back(gradients: NDArray[np.float32], got: Bools) -> Bools:
    pushed, still = got & (gradients > 0), got & (gradients == 0)
    trained = np.maximum.accumulate(pushed, axis=0)
    back = (trained & still).any(axis=1) & pushed.any(axis=1)
    return np.asarray(back, bool)


def _vectors(run: Run) -> tuple[NDArray[np.int64], dict[str, dict[str, Bools]]]:
    """Mark, by adapter and module, where a trained vector was 1 again."""
    if "off_one" not in run.columns("vectors"):
        return run.steps.step, {}
    matrix = run.matrix("off_one", "vectors")
    names = run.names("vectors")
    found: dict[str, dict[str, Bools]] = defaultdict(dict)
    for column, row in enumerate(matrix.ids.tolist()):
        off, known = matrix.values[:, column], matrix.known[:, column]
        trained = np.maximum.accumulate(known & (off > 0))
        name = names.get(row)
        if name is not None:
            back = trained & known & (off == 0)
            first = back & ~np.concatenate([[False], back[:-1]])
            found[text_of(name, "adapter")][text_of(name, "module")] = first
    return matrix.steps, {a: m for a, m in found.items() if _any_of(m)}


def _any_of(modules: Mapping[str, Bools]) -> bool:
    return any(bool(marks.any()) for marks in modules.values())


def _excused(run: Run) -> set[int]:
    """Name the steps before which the adapter was kept, or the optimizer exchanged."""
    excused: set[int] = set()
    kept, held = False, {""}
    for entry in run.ledger:
        if entry.op in ON_PURPOSE:
            kept = True
        elif entry.op == "forward" and entry.detail.get("grad_enabled") and kept:
            excused.add(entry.step)
        elif entry.op in ("step", "skip"):
            if entry.target not in held and len(held) > 1:
                excused.add(entry.step)
            kept = False
            held.add(entry.target)
    return excused
