"""Whether the model was trained in the state that the latest facts tell of.

Facts are read when a step is over, and again when something has changed by then: also
when somebody looks at another adapter, freezes everything to use the model, or asks for
gradients of the input, between two steps or after the last one. That says nothing of
the training. It does once a step was made with it.
"""

from collections.abc import Callable

import numpy as np

from ftlab.records.facts import Facts
from ftlab.rules.reading.tensors import records_of
from ftlab.runlog.run import Run

Holds = Callable[[Facts], bool]
"""Whether facts tell of what a rule has found in the latest ones."""


def steps_since(run: Run, holds: Holds) -> tuple[int, int]:
    """Return the steps that were made with what the latest facts tell of.

    Parameters
    ----------
    holds
        Earlier facts that tell of it, in a row up to the latest ones, count as well.
    """
    first, _ = _begin(run, holds)
    return first, max(run.last_step, first)


def was_trained_with(run: Run, holds: Holds) -> bool:
    """Tell whether a step was made with what the latest facts tell of.

    What held before the run counts at once: the next step will be made with it.
    """
    first, from_the_start = _begin(run, holds)
    return from_the_start or run.last_step >= first


def same_adapters(run: Run) -> Holds:
    """Ask for facts that say of the adapters what the latest ones say."""
    latest = run.facts.model.get("adapters")
    return lambda facts: bool(facts.model.get("adapters") == latest)


def missing_in(facts: Facts) -> list[str]:
    """List the trainable parameters that are in no group of any optimizer."""
    return list(facts.optimizers[0].get("missing", ())) if facts.optimizers else []


def idle_since(run: Run, step: int) -> frozenset[str]:
    """Name the trainable tensors that had no gradient since ``step``."""
    if "has_grad" not in run.columns():
        return frozenset()
    matrix = run.matrix("has_grad", start=step)
    got = np.nan_to_num(matrix.values) > 0
    idle = matrix.ids[matrix.known.any(axis=0) & ~got.any(axis=0)]
    return frozenset(record.name for record in records_of(run, idle))


def _begin(run: Run, holds: Holds) -> tuple[int, bool]:
    """Return the first step that was made so, and whether it was the first of all.

    Later facts are read when a step is over, and tell what the next one begins with.
    """
    history = run.facts_history
    index = max(len(history) - 1, 0)
    while index and holds(history[index - 1]):
        index -= 1
    first = history[index].step if history else 0
    return first + (index > 0), index == 0
