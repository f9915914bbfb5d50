"""The trace of a stop: what its survey saw, in plain values that outlive the run."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ftlab.records.printable import printable
from ftlab.records.trace import Making, Trace, TracedLink, TracedOp
from ftlab.replay.stops.excerpt import excerpts
from ftlab.replay.stops.report import Link, PauseReport, module_words
from ftlab.replay.stops.stop import Stop
from ftlab.replay.tracing.lineage import Lineage, Made, Range
from ftlab.replay.tracing.site import Site
from ftlab.replay.tracing.survey import Survey
from ftlab.replay.tracing.traits import traits

_NOBODY: frozenset[str] = frozenset()


def trace_of(stop: Stop) -> Trace | None:
    """Return what the survey of a stop saw; ``None`` where there was no survey."""
    survey = stop.survey
    if survey is None or not survey.sites:
        return None
    report = stop.report
    culprit = -1 if survey.origin is None else survey.origin.index
    sources = _Sources(survey.lineage)
    found = survey.sites[culprit] if culprit >= 0 else None
    return Trace(
        step=report.step,
        micro_batch=report.micro_batch,
        ops=tuple(_ops(survey, sources)),
        culprit=culprit,
        headline=printable(_headline(report, found)),
        text=repr(report),
        report=_plain(dataclasses.asdict(report)),
        sources=tuple(sources.names),
        chain=tuple(_link(link) for link in survey.chain(culprit)),
        batch_text=stop.batch_text,
        source=stop.source if found is None else excerpts(found),
    )


def _headline(report: PauseReport, culprit: Site | None) -> str:
    if report.reason == "anomaly":
        return report.headline().partition(": ")[2]
    if culprit is None:
        return "Nothing non-finite reached the loss or a gradient."
    return f"It begins with {culprit.op} in {module_words(culprit)}."


class _Sources:
    """Numbers the tensors from before the step in the order in which they are met."""

    def __init__(self, lineage: Lineage) -> None:
        self.names: list[str] = []
        self._lineage = lineage
        self._numbers: dict[int, int] = {}

    def number(self, parent: int) -> int:
        """Return an operation's index as it is, a source's number as the trace has."""
        if parent >= 0:
            return parent
        if parent not in self._numbers:
            self.names.append(printable(self._lineage.source(parent)))
            self._numbers[parent] = -len(self.names)
        return self._numbers[parent]


def _ops(survey: Survey, sources: _Sources) -> Iterable[TracedOp]:
    owners: dict[int, frozenset[str]] = {}
    for site in survey.sites:
        made = survey.lineage.made(site.index)
        parents = () if made is None else tuple(map(sources.number, made.parents))
        parameter = ""
        if site.phase == "optimizer":
            found = _owned(parents, owners, sources.names)
            owners[site.index] = found
            parameter = next(iter(found)) if len(found) == 1 else ""
        making = _making(made)
        yield TracedOp(
            **_place(site),
            parameter=parameter,
            parents=parents,
            making=making,
            **_values(None if made is None or making == "view" else made.range, making),
        )


def _place(site: Site) -> dict[str, Any]:
    return {
        "index": site.index,
        "op": site.op,
        "phase": site.phase,
        "module": site.module,
        "module_class": site.module_class,
        "user_line": printable(site.user_line),
        "library_line": printable(site.library_line),
        "node": site.node,
        "forward": -1 if site.forward is None else site.forward.index,
    }


def _owned(
    parents: Sequence[int], owners: Mapping[int, frozenset[str]], sources: Sequence[str]
) -> frozenset[str]:
    """Return the parameters whose weight, state or gradient an operation goes back to.

    Sources are called ``parameter w``, ``state exp_avg of w`` and ``gradient of w``.
    """
    found = _NOBODY
    for parent in parents:
        if parent >= 0:
            found |= owners.get(parent, _NOBODY)
        elif sources[-parent - 1].startswith(("parameter ", "state ", "gradient of ")):
            found |= {sources[-parent - 1].rpartition(" ")[2]}
    return found


def _making(made: Made | None) -> Making:
    if made is None:
        return ""
    known = traits(made.func)
    if known.view:
        return "view"
    if known.uninitialised:
        return "uninitialised"
    return "constant" if known.fill and not made.parents else ""


def _values(found: Range | None, making: Making = "") -> dict[str, Any]:
    if found is None:
        return {}
    shown: dict[str, Any] = {
        "dtype": str(found.dtype).removeprefix("torch."),
        "shape": found.shape,
    }
    if making == "uninitialised":
        return shown
    if not math.isnan(found.low):
        shown |= {"low": found.low, "high": found.high}
    return {**shown, "nans": found.nans, "infs": found.infs}


def _link(link: Link) -> TracedLink:
    values = {name: getattr(link.facts, name) for name in ("dtype", "shape")}
    values |= {name: getattr(link.facts, name) for name in ("low", "high")}
    words = repr(link).removeprefix(repr(link.facts)).strip()
    index = -1 if link.site is None else link.site.index
    return TracedLink(index, printable(words), **values)


def _plain(value: Any) -> Any:
    """Make tuples lists, and lines plain texts, as JSON would."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, str) else value
