"""Keeps the trace of an anomaly in the log of its run, where `ftlab.watch` logs it."""

import time
import warnings
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from ftlab.records.errors import FtlabWarning
from ftlab.records.event import Event
from ftlab.records.trace import Trace
from ftlab.replay.stops.stop import Stop
from ftlab.replay.stops.trace import trace_of
from ftlab.replay.tracing.lineage import Lineage
from ftlab.runlog.folder import rank_folder
from ftlab.runlog.traces import write_trace
from ftlab.session.observation import Observation, observation_of


class TraceKeeper:
    """Called with each stop, on the training thread; never raises.

    Parameters
    ----------
    model
        Returns what is trained.
    """

    def __init__(self, model: Callable[[], torch.nn.Module]) -> None:
        self._model = model
        self._written: weakref.WeakValueDictionary[int, Lineage]
        self._written = weakref.WeakValueDictionary()
        self._failed: weakref.WeakSet[Observation] = weakref.WeakSet()

    def __call__(self, stop: Stop) -> None:
        """Write the trace of an anomaly, once, if the model is watched."""
        survey = stop.survey
        if survey is None or stop.report.reason != "anomaly":
            return
        # The same stop comes again behind what was tried or looked at there.
        if id(survey.lineage) in self._written:
            return
        watching = observation_of(self._model())
        if watching is None or watching in self._failed:
            return
        self._written[id(survey.lineage)] = survey.lineage
        try:
            _keep(stop, watching)
        except Exception as error:  # noqa: BLE001  a log must not stop training
            self._failed.add(watching)
            msg = (
                f"The trace of step {stop.report.step} was not written: {error}. "
                "Training and debugging continue; dbg.trace shows it while the run is "
                "paused. No more traces are written to this run."
            )
            warnings.warn(msg, FtlabWarning, stacklevel=2)


def _keep(stop: Stop, watching: Observation) -> None:
    found, base = trace_of(stop), watching.run.path
    if found is None or base is None:
        return
    # The run counts for itself: it may have begun before the debugger.
    trace = replace(found, step=watching.recorder.step)
    path = write_trace(rank_folder(base, watching.run.rank), trace)
    watching.background.put(_event(trace, path))


def _event(trace: Trace, path: Path) -> Event:
    detail = {
        "trace": f"{path.parent.name}/{path.name}",
        "micro_batch": trace.micro_batch,
        "culprit": trace.culprit,
        "operations": len(trace.ops),
    }
    if trace.culprit >= 0:
        culprit = trace.ops[trace.culprit]
        detail |= {"op": culprit.op, "module": culprit.module or ""}
    message = f"{trace.headline} open_run(...).replay({trace.step}) walks there."
    return Event("note", trace.step, time.time(), message, detail)
