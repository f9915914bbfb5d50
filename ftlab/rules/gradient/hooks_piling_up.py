"""The rule GRD010, hooks-piling-up.

## What it does
Finds hooks that a loop or callback registers again and again and never removes.

## Why is this bad?
`register_forward_hook` and similar calls add one more hook each time, and all of them
run: noise is added, or a gradient scaled or clipped, once, twice, three times. Each
step takes longer than the one before, and what the hooks hold is never freed.

## Evidence
Counted at the end of a step, at the first steps and each 16th: the hooks of one
function (by its code) on one module, parameter or optimizer, or among torch's global
ones, where there are more than when watching began. Two ways in which it counts:
- 3 hooks or more that hold the same (the same objects, equal numbers and strings; a
  list or dict of their own is taken as storage), added at 2 moments at least after the
  first. A second stage that registers once more is one such moment.
- Hooks that hold different things, or that only set `requires_grad`, may be one for
  each adapter, layer or task: 16 or more, and one more for each step at least.

The last count must be the largest: hooks that are removed do not count. Hooks of ftlab,
torch, transformers, PEFT, accelerate, TRL and bitsandbytes are not counted. Measured
with torch 2.13: a hook that is registered in each step is there 1, 2, 3, ... times at
the end of the steps, and 33 times after step 32; registered before training, or in a
`with` block or removed in each step, at most once.

## What to try
1. Register once, before the loop.
2. Keep the handle and call `handle.remove()`, or `with module.register_forward_hook(f)
   as handle:` for as long as it is needed.
By hand: `len(module._forward_hooks)`, `len(parameter._backward_hooks)` at the end of
two epochs.

## Known problems
Hooks that hold different objects and come once per epoch or evaluation cannot be told
from one hook per adapter, and are not reported. Hooks that were there several times
before watching began, those on modules outside of the model, and those on graphs are
not seen.

## References
- torch, `torch/utils/hooks.py`, `RemovableHandle` (each registration has its own id)
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab.records.finding import Finding, Place, PlaceKind
from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.rule import Results, Rule, Run, needs_step_values
from ftlab.rules.words import an, at_steps, in_words

TABLE = "hooks"

ALIKE = 3
"""Hooks that do the same, put on at three moments or more."""

MANY = 16
"""Hooks that hold different things, and come with each step."""

_PLACES: dict[str, PlaceKind] = {
    "module": "module",
    "param": "param",
    "optimizer": "optimizer",
    "object": "object",
}


class _Grown(NamedTuple):
    """A pile on one object."""

    record: NameRecord
    first: int
    start: int
    last: int
    alike: bool

    @property
    def function(self) -> tuple[str, ...]:
        return tuple(text_of(self.record, key) for key in ("kind", "function", "at"))


class HooksPilingUp(Rule):
    """Finds hooks that are registered again and again."""

    code = "GRD010"
    requires = needs_step_values(
        "piled_hooks", "how many hooks of one function are on one module"
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for each function."""
        steps = run.steps
        looks = steps.step[steps.known("piled_hooks")]
        if TABLE not in run.tables():
            return
        functions: dict[tuple[str, ...], list[_Grown]] = {}
        for each in _grown(run, looks):
            functions.setdefault(each.function, []).append(each)
        for found in functions.values():
            yield self._finding(found, int(looks[-1]))

    def _finding(self, found: Sequence[_Grown], last: int) -> Finding:
        most = max(found, key=lambda each: each.last)
        first = min(each.first for each in found)
        kind, function, at = most.function
        owners = [text_of(each.record, "owner") for each in found]
        what = "does the same" if most.alike else "holds something else"
        return self.warning(
            f"{at_steps(first, last)}: {function} ({at}) is registered on "
            f"{in_words(owners)} as {an(kind)} {most.last} times, up from {most.start}",
            cause="It is registered again and again and never removed: each "
            f"registration adds one more hook, which {what}, and all of them run.",
            fix="Register it once, before the loop; or keep the handle and call "
            "handle.remove() when it is no longer needed.",
            places=[*map(_place, found), Place("file", at)],
            steps=(first, last),
            evidence={
                "hooks": most.last,
                "objects": len(found),
                "threshold": ALIKE if most.alike else MANY,
            },
            healthy="as many hooks at the end of a step as when training began",
        )


def _place(grown: _Grown) -> Place:
    kind = _PLACES[text_of(grown.record, "place")]
    return Place(kind, text_of(grown.record, "owner"))


def _grown(run: Run, looks: NDArray[np.int64]) -> Iterator[_Grown]:
    """Yield what is still there at the last look, and has grown as a leak does."""
    names = run.names(TABLE)
    hooks, alike = run.matrix("hooks", TABLE), run.matrix("alike", TABLE)
    if not len(hooks.steps) or not len(looks) or hooks.steps[-1] < looks[-1]:
        return
    for column, row in enumerate(hooks.ids.tolist()):
        known = hooks.known[:, column]
        if row not in names or not known[-1]:
            continue
        steps = hooks.steps[known]
        same, of_it = alike.values[known, column], hooks.values[known, column]
        repeated = _is_repeated(same)
        if repeated or _comes_with_steps(steps, of_it):
            counts = same if repeated else of_it
            start, count = int(counts[0]), int(counts[-1])
            yield _Grown(names[row], int(steps[0]), start, count, repeated)


def _is_repeated(counts: NDArray[np.floating]) -> bool:
    moments = 1 + int((np.diff(counts) > 0).sum())
    return bool(counts[-1] >= ALIKE and counts[-1] == counts.max() and moments >= 2)


def _comes_with_steps(steps: NDArray[np.int64], counts: NDArray[np.floating]) -> bool:
    grown, passed = counts[-1] - counts[0], steps[-1] - steps[0]
    # The hook of the next step is there already where a step ends, but for the last.
    return bool(counts[-1] >= MANY and passed and grown + 1 >= passed)
