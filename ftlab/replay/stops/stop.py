"""A stop: its report, and the live values behind it while the step waits."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ftlab.replay.breakpoints.sought import Hit
from ftlab.replay.stops.batch_text import SampleText, batch_text
from ftlab.replay.stops.cause import cause_of
from ftlab.replay.stops.describe import input_facts, output_facts
from ftlab.replay.stops.excerpt import (
    Excerpt,
    Frame,
    Listing,
    excerpts,
    stack_above,
    waiting_frame,
)
from ftlab.replay.stops.histogram import Histogram
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.spans import Decode, spans_of
from ftlab.replay.stops.verdict import Verdict, same_values
from ftlab.replay.tracing.finite import non_finite, tensor_leaves
from ftlab.replay.tracing.origin import Origin
from ftlab.replay.tracing.runner import OpStop
from ftlab.replay.tracing.site import Site
from ftlab.replay.tracing.survey import Survey

_KINDS = ("parameter", "buffer", "batch", "gradient")

_LEGAL_NOTES = {
    "fill": "The value was filled in by this operation and reached the loss.",
    "memory": "This memory was never written: reading it gives whatever was there.",
    "elsewhere": "No operation of this step made the value that came in here.",
}


@dataclass(frozen=True, slots=True)
class Stop:
    """What the caller can look at while the step waits.

    Attributes
    ----------
    report
        The plain values.
    batch
        The arguments of the step.
    op
        The live operation; ``None`` at the end of a micro-batch.
    sites
        All operations of the step, where it was surveyed.
    stack
        The calls in which the step waits.
    decode
        Turns token ids into text, where a tokenizer is known.
    survey
        What its survey saw, where there was one.
    """

    report: PauseReport
    batch: Any
    op: OpStop | None = None
    sites: Sequence[Site] = ()
    stack: Listing[Frame] = field(default_factory=Listing)
    decode: Decode | None = None
    survey: Survey | None = None

    @property
    def tensor(self) -> torch.Tensor | None:
        """A copy of the operation's output; the first non-finite one, if any is."""
        chosen = self._output
        return None if chosen is None else chosen.detach().clone()

    @property
    def _output(self) -> torch.Tensor | None:
        if self.op is None:
            return None
        outputs = tensor_leaves(self.op.outputs)
        bad = [tensor for tensor in outputs if non_finite(tensor) is not None]
        return next(iter([*bad, *outputs]), None)

    @property
    def source(self) -> Listing[Excerpt]:
        """The text around the lines that the stop is about."""
        return excerpts(self.report.site)

    @property
    def histogram(self) -> Histogram | None:
        """How the values of `tensor` are spread."""
        return Histogram.of(self._output)

    @property
    def batch_text(self) -> Listing[SampleText]:
        """The batch's words, with the tokens marked that are non-finite."""
        return Listing(batch_text(self.batch, self.report.spans, self.decode))

    def completed(self, decode: Decode | None) -> "Stop":
        """Add what the waiting thread knows: its calls, and the tokens concerned."""
        updates = self.report.phase == "optimizer"
        stack = stack_above(waiting_frame(), optimizer=updates)
        stop = replace(self, stack=stack, decode=decode)
        output = self._output
        if output is None or self.report.reason != "anomaly":
            return stop
        spans = spans_of(output, self.batch, decode)
        return replace(stop, report=replace(self.report, spans=spans))

    def release(self) -> None:
        """Let go of the calls in which the step has waited: the run goes on."""
        for frame in self.stack:
            frame.locals.release()

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """Copies of the operation's input tensors."""
        if self.op is None:
            return ()
        tensors = tensor_leaves((self.op.args, self.op.kwargs))
        return tuple(tensor.detach().clone() for tensor in tensors)


def kind_of(site: Site, origin: Origin | None) -> str:
    """Return the kind of place where a value was born."""
    if origin is not None and origin.source in _KINDS:
        return origin.source
    if site.phase == "backward":
        return "backward"
    return "outside modules" if site.module is None else "module"


def with_findings(
    report: PauseReport,
    survey: Survey | None,
    verdict: Verdict | None,
    losses: Sequence[torch.Tensor],
) -> PauseReport:
    """Complete ``report`` with what holds for every stop of an anomalous step."""
    if survey is not None:
        report = replace(report, operations=len(survey.sites))
    if verdict is None:
        return report
    parameters, notes = verdict.parameters, report.notes
    if survey is not None:
        parameters = survey.parameters
        if not same_values(losses, survey.losses):
            note = f"The replay's loss differs from the first run's.{_moved(survey)}"
            notes = (*notes, note)
    return replace(report, loss=verdict.loss, parameters=parameters, notes=notes)


def at_op(
    report: PauseReport, stop: OpStop, survey: Survey | None, hit: Hit | None = None
) -> PauseReport:
    """Complete ``report`` with what an operation shows.

    Parameters
    ----------
    hit
        What a breakpoint stops there for.
    """
    is_origin = stop.reason == "anomaly" and survey is not None
    origin = survey.origin if survey is not None and is_origin else None
    notes = list(report.notes)
    if not stop.matches:
        notes.append(f"The replay ran {stop.func} where the survey saw another op.")
    if origin is not None and origin.source in _LEGAL_NOTES:
        notes.append(_LEGAL_NOTES[origin.source])
    kinds = {non_finite(tensor) for tensor in tensor_leaves(stop.outputs)} - {None}
    return replace(
        report,
        reason=stop.reason,
        what="nan" if "nan" in kinds else "inf" if kinds else "",
        kind=kind_of(stop.site, origin),
        name=origin.name if origin is not None else "",
        site=stop.site,
        inputs=input_facts(stop),
        outputs=output_facts(stop),
        chain=survey.chain(stop.site.index) if survey and (is_origin or hit) else (),
        condition="" if hit is None else hit.condition,
        cause=cause_of(stop) if kinds else "",
        notes=tuple(notes),
    )


def at_end(
    report: PauseReport,
    reason: str,
    verdict: Verdict | None,
    note: str,
    hit: Hit | None = None,
) -> PauseReport:
    """Complete ``report`` with what holds at the end of a micro-batch."""
    what = verdict.what if verdict is not None and reason == "anomaly" else ""
    return replace(
        report,
        reason=reason,
        what=what,
        kind="unknown" if what else "",
        condition="" if hit is None else hit.condition,
        notes=(*report.notes, note) if note else report.notes,
    )


def nothing_made_it(survey: Survey | None) -> str:
    """Say why the replay of an anomalous step has come to its end."""
    if survey is not None and survey.parameters:
        return "No operation that torch shows in the training thread made it."
    return (
        "No operation of the replay made it: the step does not repeat. Does it count "
        "its own calls, or read what it has changed? Then keep the count outside, and "
        f"let the step depend on its batch alone.{_moved(survey)}"
    )


def _moved(survey: Survey | None) -> str:
    """Name what a replay found changed, and so may differ by."""
    if survey is None or not survey.moved:
        return ""
    names = ", ".join(survey.moved)
    return f" The step has changed what cannot be restored: the trainer's {names}."
