"""The pairs of rows that a watch has compared, for the rules about preferences."""

import math
import re

import numpy as np

from ftlab.records.finding import Place
from ftlab.records.pair_facts import EqualPair, SeenPairs
from ftlab.rules.reading.samples import is_causal, row_name, samples_of
from ftlab.runlog.run import Run

PREFERENCE = re.compile("DPO|CPO|ORPO|Reward|Preference|SimPO|IPO")
"""In the names of trainers that compare the rows of a batch."""

LOSSES = 3
"""Losses of steps with equal pairs only, that must be one number."""

CLOSE = 1e-3
"""Relative distance of losses that count as one number."""


def pairs_of(run: Run) -> tuple[SeenPairs, tuple[int, ...]] | None:
    """Return what was seen of pairs at last, and the steps with equal ones.

    Of the ways in which pairs may lie, the one that has the most equal pairs.
    """
    events = [event for event in run.whole.events if event.kind == "pairs"]
    last: dict[str, SeenPairs] = {}
    steps: dict[str, list[int]] = {}
    first: dict[str, tuple[EqualPair, ...]] = {}
    for event in events:
        for seen in map(SeenPairs.from_json, event.detail["forms"]):
            last[seen.form] = seen
            first.setdefault(seen.form, seen.some)
            steps.setdefault(seen.form, []).append(event.step)
    if not last:
        return None
    form = max(last, key=lambda each: last[each].equal)
    return last[form], tuple(steps[form])


def places_of(pairs: tuple[EqualPair, ...]) -> list[Place]:
    """Return both rows of each pair."""
    rows = [
        place
        for each in pairs
        for place in (
            (each.row, each.micro_batch),
            (each.other, each.other_micro_batch),
        )
    ]
    named = (row_name(m, r) for r, m in rows)
    return [Place("sample", name) for name in named]


def compares(run: Run, seen: SeenPairs, steps: tuple[int, ...]) -> bool:
    """Tell whether the loss is one of the differences between the rows of pairs.

    A Trainer's name says so. Else the loss does, unless the tokens are labels of their
    own: with equal pairs only, it is one number whatever the texts are; with some, it
    begins at ln 2, and the other pairs begin alike and go apart.
    """
    if PREFERENCE.search(str(run.facts.training.get("trainer_class") or "")):
        return True
    if any(is_causal(each.sample) for each in samples_of(run).sights):
        return False
    table = run.whole.steps
    losses = dict(zip(table.step.tolist(), table["loss"].tolist(), strict=True))
    known = np.array([losses.get(step, np.nan) for step in steps])
    known = known[np.isfinite(known)]
    if seen.equal == seen.pairs:
        same = len(known) >= LOSSES and np.ptp(known) <= CLOSE * abs(known).max()
        return bool(same and known[0] != 0)
    first = losses.get(min(losses, default=0), np.nan)
    begins = abs(first - math.log(2)) <= CLOSE
    return begins and 2 * seen.alike > seen.pairs - seen.equal
