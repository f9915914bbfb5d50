"""Teachers and references that answer with dropout on, without gradients, in training.

Three kinds are looked at: a frozen part of the watched model, the model itself with its
adapter off (or with one that no optimizer holds), and another model that has a dropout
on. The last is looked for once, where the training forward is given no labels: the loss
is made outside, as with a teacher.
"""

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.inventory import hookable_modules
from ftlab.probes.modes.mode_others import other_models
from ftlab.probes.modes.mode_passes import PassCall, Passes, repeated
from ftlab.probes.modes.mode_suspects import Teacher, teacher_beside, teachers_in
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import DENSE, Full, every
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.records.handle import Handle
from ftlab.records.step import Block, Column

SAMPLES, ELEMENTS = 8, 16
"""Weights of a teacher, and elements of each, that tell whether it moves."""


class TeacherModes(Probe):
    """Count passes of teachers with dropout on."""

    light = False
    table: ClassVar[str] = "teachers"
    columns: ClassVar[Sequence[Column]] = (
        Column("dropouts_on", "1", "Dropouts above 0 that were on in its passes."),
        Column("passes", "1", "Passes in the step with one on."),
        Column("repeated", "1", "Those of them on what it had been given before."),
        Column("moved", "1", "1 if its weights are others than when last looked at."),
    )

    def __init__(self, interval: int = 16) -> None:
        self._due = every(interval)
        self._in_full = Full()
        self._passes: Passes | None = None
        self._able: dict[str, weakref.ref[torch.nn.Module]] = {}
        self._inside: list[Teacher] = []
        self._others: list[Teacher] | None = None
        self._trained: tuple[str, ...] | None = None
        self._before: dict[str, bytes] = {}
        self._looked = False

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin with the first step."""
        self._plan(subject)
        self._listen()
        return [self]

    def remove(self) -> None:
        """Take the hooks off."""
        if self._passes is not None:
            self._passes.close()
        self._passes = None

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Look for other models once: they are there when training begins."""
        if self._others is None and inputs.get("labels") is None:
            self._others = list(map(teacher_beside, other_models(moment.subject.model)))
        return ()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Tell the passes of this step's teachers."""
        passes, self._passes = self._passes, None
        if passes is None:
            return ()
        passes.hooks.remove()
        self._looked = True
        readings: list[Reading] = []
        for teacher in self._teachers:
            calls = passes.of_teacher(teacher.path, teacher.learners)
            noisy = [each for each in calls if each.dropouts]
            readings += self._read(moment, teacher, noisy)
        passes.close()
        return readings

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Get ready for the next step; after the first ones for two in a row.

        An evaluation that comes as often as we look falls on one of the two.
        """
        step = moment.step + 1
        again = self._due(step - 1) and self._in_full(step)
        if step < DENSE or self._due(step) or again:
            if moment.tensors.names != self._trained:
                self._trained = moment.tensors.names
                self._plan(moment.subject)
            self._listen()
        return ()

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Tell whether this step was looked at."""
        looked, self._looked = self._looked, False
        return {"teacher_looks": 1.0} if looked else {}

    @property
    def _teachers(self) -> list[Teacher]:
        return [*self._inside, *(self._others or ())]

    def _plan(self, subject: Subject) -> None:
        able = dict(hookable_modules(innermost(subject.model)))
        self._inside = teachers_in(subject, able)
        self._able = {path: weakref.ref(module) for path, module in able.items()}

    def _listen(self) -> None:
        if self._passes is not None or not self._teachers:
            return
        self._passes = Passes()
        self._passes.stop_while_scripting()
        known = {teacher.path: teacher for teacher in self._teachers}
        learners = {path: None for each in self._teachers for path in each.learners}
        for path in learners | dict.fromkeys(known):
            teacher = known.get(path)
            held = self._able.get(path) if teacher is None else teacher.module
            module = None if held is None else held()
            if module is not None:
                count = _nothing if teacher is None else teacher.dropouts_on
                self._passes.listen(module, path, count)

    def _read(
        self, moment: Moment, teacher: Teacher, noisy: Sequence[PassCall]
    ) -> Iterable[Reading]:
        """Queue a row, once there was a pass to tell of."""
        module, name = teacher.module(), teacher.path or "model"
        if module is None or not (noisy or name in self._before):
            return
        meta = {"kind": teacher.kind, "class": type(module).__name__, "p": teacher.p}
        row = moment.name(self.table, name, "module", meta)
        most = max((each.dropouts for each in noisy), default=0)
        counts = [most, len(noisy), repeated(noisy)]
        first = name not in self._before
        self._before.setdefault(name, b"")

        def finish(values: NDArray[np.float32]) -> Iterable[Block]:
            seen = values.tobytes()
            moved = not first and self._before[name] != seen
            self._before[name] = seen
            numbers = np.array([*counts, moved], np.float32)
            columns = {
                column.name: numbers[index : index + 1]
                for index, column in enumerate(self.columns)
            }
            yield Block(self.table, moment.step, np.array([row], np.int32), columns)

        yield Reading(torch.zeros(0) if teacher.kind == "own" else _few(module), finish)


def _nothing() -> int:
    return 0


def _few(module: torch.nn.Module) -> torch.Tensor:
    """Take some elements of some weights."""
    weights = [each for each in module.parameters() if each.is_floating_point()]
    chosen = weights[:: max(1, len(weights) // SAMPLES)]
    if not chosen:
        return torch.zeros(0)
    device = chosen[0].device
    with torch.no_grad():
        flat = [each.detach().reshape(-1)[:ELEMENTS].to(device) for each in chosen]
        return torch.cat([each.float() for each in flat])
