"""How the losses of an update's micro-batches were weighed, read from their graphs."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.cycles import times
from ftlab.rules.reading.update_parts import Update, updates_of
from ftlab.runlog.run import Run

WHOLE = 0.75
"""Weight of a loss's heaviest part from which on nothing has divided it.

Label smoothing leaves 0.9 of the cross entropy, an auxiliary loss all of it.
"""


@dataclass(frozen=True, slots=True)
class Window:
    """The micro-batches of one update, each with a forward of its own.

    Attributes
    ----------
    step
        The update.
    count
        How many micro-batches.
    total
        The weights of their mean losses, added up: 1 is the mean of all of them.
    divided
        What every one of the losses was divided by, outermost first.
    whole
        Nothing has divided any of them.
    pure
        Nothing but these divisors was multiplied in.
    """

    step: int
    count: int
    total: float
    divided: tuple[float, ...]
    whole: bool
    pure: bool
    accelerate: int = 0
    awaited: bool = False


def windows_of(run: Run) -> list[Window]:
    """Return the updates whose losses are means, all alike, of known weight."""
    if "grad_l2_after" in run.columns():  # somebody mends the gradients themselves
        return []
    found = [_window(update) for update in updates_of(run)]
    return [window for window in found if window is not None]


def _window(update: Update) -> Window | None:
    entries = update.backwards
    if update.cleared:  # they are not added up
        return None
    if any(times(each) > 1 or each.detail.get("loss") != "mean" for each in entries):
        return None
    if len({each.detail.get("micro") for each in entries}) != len(entries):
        return None
    if len({each.detail.get("node") for each in entries}) > 1:  # tasks of two kinds
        return None
    weights = [float(each.detail["weight"]) for each in entries]
    divided = {tuple(each.detail.get("divided", ())) for each in entries}
    shared = divided.pop() if len(divided) == 1 else ()
    return Window(
        step=update.step,
        count=len(entries),
        total=sum(weights),
        divided=shared,
        whole=not (shared or divided) and all(map(_is_whole, entries)),
        pure=all(math.isclose(w * math.prod(shared), 1, rel_tol=1e-3) for w in weights),
        accelerate=int(entries[-1].detail.get("accelerate", 0)),
        awaited=update.awaited,
    )


def _is_whole(entry: LedgerEntry) -> bool:
    weight = float(entry.detail["weight"])
    largest = float(entry.detail.get("largest", weight))
    return WHOLE < largest <= 1.001


def usual_count(windows: Sequence[Window]) -> int:
    """Return how many micro-batches most updates are made of, 0 without any."""
    counts = Counter(window.count for window in windows)
    return max(counts, key=lambda count: (counts[count], count), default=0)


def cut_alike(windows: Sequence[Window]) -> bool:
    """Tell whether each K micro-batches are cut into updates, twice in a row alike.

    K is what all losses are divided by, a whole number that no update is made of. The
    updates are of unlike sizes, so that K is 3 at least.
    """
    factors = {window.divided for window in windows}
    if len(factors) != 1 or any(w.awaited or not w.pure for w in windows):
        return False
    (divided,) = factors
    by = divided[0] if len(divided) == 1 else 0.0
    whole, largest = round(by), max(window.count for window in windows)
    if not math.isclose(by, whole) or largest >= whole:
        return False
    return any(
        _is_repeated(windows[i : i + 2 * whole], whole) for i in range(len(windows))
    )


def _is_repeated(windows: Sequence[Window], whole: int) -> bool:
    sizes = [window.count for window in windows]
    sums = [*accumulate(sizes)]
    length = sums.index(whole) + 1 if whole in sums else len(sizes)
    chosen = windows[: 2 * length]
    once, again = sizes[:length], sizes[length : 2 * length]
    unbroken = chosen[-1].step - chosen[0].step == 2 * length - 1
    return once == again and len(set(once)) > 1 and unbroken


def feels_size(run: Run) -> bool:
    """Tell whether updates grow with the gradients: so it is with SGD alone."""
    kinds = [str(facts.get("class", "")) for facts in run.facts.optimizers]
    return bool(kinds) and all("SGD" in kind.upper() for kind in kinds)
