"""Run a case of the gallery under the recorder, and judge it step by step.

Everything happens in memory and in the calling thread, so that the same case gives the
same report each time. The rules speak after each of the first steps and then less
often, as they do while training runs; what they say in the middle of a run stays said.
"""

import contextlib
import gc
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

from ftlab.faults.fault import Case, Rows
from ftlab.probes.adapter.intruder_counts import IntruderCounts
from ftlab.probes.behaviour.answers import Answers
from ftlab.probes.budget import Budget
from ftlab.probes.facts import facts_signature, read_facts
from ftlab.probes.recorder import Recorder
from ftlab.probes.standard import standard_probes
from ftlab.probes.subject import Subject
from ftlab.records.event import Event
from ftlab.records.step import StepRecord
from ftlab.rules.engine import Engine
from ftlab.rules.report import Report
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run
from ftlab.session.data import data
from ftlab.session.data_findings import dataset_event
from ftlab.session.integrations.transformers import TrainerLink

EACH_STEP = 40
"""Steps after each of which the rules are asked, unless a caller wants others."""

ASKED, TOKENS = 8, 48
"""Steps from one answer to a prompt to the next, and its greatest length."""

COUNTED = 16
"""Steps from one count of directions to the next."""

Make = Callable[..., Recorder]

LATER = 20
"""Steps from one asking to the next beyond these."""


@dataclass(slots=True)
class Watched:
    """What watching a case gave.

    Attributes
    ----------
    run
        Everything recorded.
    report
        Everything found, whenever it was.
    found_at
        By code, the step after which the rule spoke for the first time; -1 is before
        the first step.
    error
        What the case raised, if it raised.
    seconds
        How long running and judging took.
    """

    run: Run
    report: Report = field(default_factory=Report)
    found_at: dict[str, int] = field(default_factory=dict)
    error: Exception | None = None
    seconds: float = 0.0


class _Sight:
    """Takes records into a run, reads facts when they change, and asks the rules."""

    def __init__(self, watched: Watched, engine: Engine | None, each_step: int) -> None:
        self._watched = watched
        self._engine = engine
        self._each_step = each_step
        self._subject: Subject | None = None
        self._signature: Any = None

    def begin(self, subject: Subject, first_step: int = 0) -> None:
        """Read the facts before the first step."""
        self._subject, self._signature = subject, None
        self._read_facts(max(self._watched.run.last_step + 1, first_step))
        self._ask()

    def __call__(self, record: Any) -> None:
        if not isinstance(record, StepRecord):
            self._watched.run.append(record)
            return
        self._read_facts(record.step)
        self._watched.run.append(record)
        if record.step < self._each_step or record.step % LATER == 0:
            self._ask()

    def end(self) -> None:
        """Hear the rules on all that was recorded."""
        self._ask()
        if self._engine is not None:
            self._watched.report = self._engine.report()

    def _read_facts(self, step: int) -> None:
        if self._subject is None:
            return
        signature = facts_signature(self._subject)
        if signature != self._signature:
            self._signature = signature
            self._watched.run.append(read_facts(self._subject, step))

    def _ask(self) -> None:
        if self._engine is None:
            return
        run = self._watched.run
        for finding in self._engine.finish(run).findings:
            self._watched.found_at.setdefault(finding.code, run.last_step)


def watch_case(
    case: Case,
    steps: int,
    *,
    rules: Iterable[Rule] | None = None,
    interval: int = 16,
    budget: float | None = None,
    judged: bool = True,
    each_step: int = EACH_STEP,
) -> Watched:
    """Run a case for some iterations, watched, and ask the rules as it goes on.

    Parameters
    ----------
    case
        The live objects and the loop body, or a trainer; see `ftlab.faults.fault`.
    steps
        Iterations of the loop; a trainer decides for itself.
    rules
        The rules to ask; all of them by default.
    interval
        Steps between two measurements of weights, adapters and updates.
    budget
        As for `ftlab.watch`; without one the same case gives the same report each time.
    judged
        Whether the rules are asked at all.
    each_step
        Steps after each of which they are asked; beyond, every `LATER` steps.

    Notes
    -----
    What the case raises ends it, as it would end the user's run; it is kept in
    `Watched.error`.
    """
    watched = Watched(Run())
    sight = _Sight(watched, Engine(rules) if judged else None, each_step)
    begin = time.perf_counter()
    if case.rows is not None:
        watched.run.append(_looked_at(case.rows))
    watching = _trainer_watched if case.trainer is not None else _loop_watched
    with watching(case, sight, partial(_recorder, interval, budget, case, sight)):
        try:
            case.run(steps)
        except Exception as error:  # noqa: BLE001  the fault's own; judged like the rest
            watched.error = error
    sight.end()
    watched.seconds = time.perf_counter() - begin
    return watched


def _looked_at(rows: Rows) -> Event:
    """Look at a dataset as `ftlab.data` does."""
    asked = (rows.dataset, rows.tokenizer)
    more = {"evaluation": rows.evaluation, "max_length": rows.max_length}
    return dataset_event(data(*asked, **more, progress=False).known)


@contextlib.contextmanager
def _loop_watched(case: Case, sight: _Sight, make: Make) -> Iterator[None]:
    subject = Subject(case.model, _several(case.optimizer), **_others(case))
    sight.begin(subject)
    with make(subject):
        yield


def _recorder(
    interval: int,
    budget: float | None,
    case: Case,
    sight: _Sight,
    subject: Subject,
    first_step: int = 0,
) -> Recorder:
    probes = list(standard_probes(interval=interval, activations=False))
    if case.prompts:
        probes.append(Answers(case.prompts, ASKED, TOKENS))
    if case.directions:
        probes.append(IntruderCounts(case.directions, COUNTED))
    kept = Budget(budget)
    made = Recorder(subject, probes, sight, first_step=first_step, budget=kept)
    made.prompt = True  # facts are read as each step ends
    return made


def _others(case: Case) -> dict[str, Any]:
    return {
        "schedulers": _several(case.scheduler),
        "scaler": case.scaler,
        "tokenizer": case.tokenizer,
        "training": {"scaler": case.scaler is not None},
        "adapter_dir": case.adapter,
        "trained_as": case.trained_as,
    }


@contextlib.contextmanager
def _trainer_watched(case: Case, sight: _Sight, make: Make) -> Iterator[None]:
    """Link the trainer as `ftlab.watch` links it, its log in memory."""
    recorders: list[Recorder] = []

    def begin(subject: Subject, *, first_step: int = 0) -> Any:
        subject.adapter_dir = case.adapter
        sight.begin(subject, first_step)
        recorder = make(subject, first_step)
        recorders.append(recorder.attach())
        return SimpleNamespace(recorder=recorder, background=_Inbox(sight))

    def stop(_: str) -> None:
        for recorder in recorders:
            recorder.detach()

    link = TrainerLink(case.trainer, begin, stop)
    try:
        yield
    finally:
        link.remove()
        # Trainers hold themselves in circles; a gallery of them would fill the memory.
        gc.collect()


@dataclass(frozen=True, slots=True)
class _Inbox:
    """Takes what a trainer's callback hands over beside the recorder."""

    put: Callable[[Any], None]


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
