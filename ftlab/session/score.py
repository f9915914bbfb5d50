"""Run a case of the fault gallery under the recorder, and judge it.

Everything happens in memory and in the calling thread, so that the same case gives the
same report each time. This is how the rules are tested, and how they can be scored.
"""

from typing import Any

from ftlab.faults.fault import Case
from ftlab.probes.facts import facts_signature, read_facts
from ftlab.probes.recorder import Recorder
from ftlab.probes.standard import standard_probes
from ftlab.probes.subject import Subject
from ftlab.records.step import StepRecord
from ftlab.rules.engine import Engine
from ftlab.rules.report import Report
from ftlab.runlog.run import Run


class _Sink:
    """Appends records to a run; reads the facts anew when they changed."""

    def __init__(self, run: Run, subject: Subject) -> None:
        self._run = run
        self._subject = subject
        self._signature: Any = None

    def read_facts(self, step: int) -> None:
        """Read the facts if they are not the known ones."""
        signature = facts_signature(self._subject)
        if signature != self._signature:
            self._signature = signature
            self._run.append(read_facts(self._subject, step))

    def __call__(self, record: Any) -> None:
        if isinstance(record, StepRecord):
            self.read_facts(record.step)
        self._run.append(record)


def record(case: Case, steps: int, *, interval: int = 16) -> Run:
    """Run a case for some iterations and return what was recorded.

    Parameters
    ----------
    case
        The live objects and the loop body; see `ftlab.faults.fault`.
    steps
        Iterations of the loop.
    interval
        Steps between two measurements of weights, adapters and updates.

    Examples
    --------
    >>> from ftlab.faults.registry import load
    >>> from ftlab.session.score import record
    >>> len(record(load("lora-b-frozen").build(fixed=True), steps=3).steps)
    3
    """
    run = Run()
    subject = Subject(
        case.model,
        _several(case.optimizer),
        schedulers=_several(case.scheduler),
        scaler=case.scaler,
        training={"scaler": case.scaler is not None},
    )
    sink = _Sink(run, subject)
    sink.read_facts(0)
    probes = standard_probes(interval=interval, activations=False)
    with Recorder(subject, probes, sink):
        case.run(steps)
    return run


def judge(case: Case, steps: int, *, interval: int = 16) -> Report:
    """Run a case and check it with all rules."""
    return Engine().check(record(case, steps, interval=interval))


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
