"""Hooks that are put on again and again, and never taken off.

Who calls whom: the end of a due step (`PiledHooks.on_close`) counts the hooks that are
left then, so that those of one step's micro-batches count once; its readings, queued
before, hand the numbers over.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import torch

from ftlab.probes.model.hook_tables import Pile, piles
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.records.handle import Handle
from ftlab.records.step import Block, Column

TABLE = "hooks"

Key = tuple[str, ...]


class PiledHooks(Probe):
    """Count the user's hooks, on due steps, where one function is on often.

    Only what there is more of than when watching began gets a row.
    """

    table: ClassVar[str] = TABLE
    columns: ClassVar[Sequence[Column]] = (
        Column("hooks", "1", "Hooks of one function on one object."),
        Column("alike", "1", "Those of them that hold the same and do the same."),
    )

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)
        self._before: dict[Key, int] = {}
        self._found: dict[int, Pile] = {}

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Take what is there before the first step as meant."""
        self._before = {_key(each): each.hooks for each in piles(subject)}
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Make room for what the end of the step shows."""
        found: dict[int, Pile] = {}
        self._found = found
        step = moment.step
        nothing = torch.zeros(0, device="cpu")
        return (Reading(nothing, lambda _: _block(step, found)),)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Count what is left when the step is over, if the model is."""
        if moment.subject.gone:
            return {}
        grown = [
            each
            for each in piles(moment.subject)
            if each.hooks > self._before.get(_key(each), 1)
        ]
        found, self._found = self._found, {}
        for each in grown:
            found[_row(moment, each)] = each
        return {"piled_hooks": float(max((each.hooks for each in grown), default=0))}


def _key(pile: Pile) -> Key:
    return pile.owner, pile.kind, pile.function, pile.at


def _row(moment: Moment, pile: Pile) -> int:
    name = f"{pile.owner} [{pile.kind} {pile.function} {pile.at}]"
    kind = "param" if pile.place == "param" else "module"
    meta = {
        "owner": pile.owner,
        "place": pile.place,
        "kind": pile.kind,
        "function": pile.function,
        "at": pile.at,
    }
    return moment.name(TABLE, name, kind, meta)


def _block(step: int, found: dict[int, Pile]) -> Iterable[Block]:
    if not found:
        return ()
    rows = sorted(found)
    values = {
        "hooks": np.array([found[row].hooks for row in rows], np.float32),
        "alike": np.array([found[row].alike for row in rows], np.float32),
    }
    return (Block(TABLE, step, np.array(rows, np.int32), values),)
