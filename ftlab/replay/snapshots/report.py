"""Reports of stops as JSON."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ftlab.replay.snapshots.codec import Packer, Unpacker
from ftlab.replay.stops.report import Link, PauseReport, TensorFacts
from ftlab.replay.stops.spans import TokenSpan
from ftlab.replay.tracing.site import Site


def pack_report(report: PauseReport) -> dict[str, Any]:
    """Return ``report`` as JSON.

    Examples
    --------
    >>> from ftlab.replay.stops.report import PauseReport
    >>> from ftlab.replay.snapshots.report import pack_report, unpack_report
    >>> report = PauseReport("paused", "anomaly", 3, what="nan", loss=float("inf"))
    >>> unpack_report(pack_report(report)) == report
    True
    """
    packed: dict[str, Any] = Packer().pack(dataclasses.asdict(report), "report")["of"]
    return packed


def unpack_report(packed: Mapping[str, Any]) -> PauseReport:
    """Return the report; fields that this ftlab does not know are left out."""
    values = {name: Unpacker({}).unpack(value) for name, value in packed.items()}
    found = _known(PauseReport, values)
    made: dict[str, Any] = {
        "inputs": tuple(_facts(each) for each in found.get("inputs", ())),
        "outputs": tuple(_facts(each) for each in found.get("outputs", ())),
        "spans": tuple(
            TokenSpan(**_known(TokenSpan, s)) for s in found.get("spans", ())
        ),
        "chain": tuple(_link(each) for each in found.get("chain", ())),
        "site": _site(found.get("site")),
    }
    return PauseReport(**{**found, **made})


def _facts(values: Mapping[str, Any]) -> TensorFacts:
    return TensorFacts(**_known(TensorFacts, values))


def _link(values: Mapping[str, Any]) -> Link:
    known = _known(Link, values)
    facts = _facts(known["facts"])
    return Link(**{**known, "facts": facts, "site": _site(known["site"])})


def _site(values: Mapping[str, Any] | None) -> Site | None:
    if values is None:
        return None
    known = _known(Site, values)
    return Site(**{**known, "forward": _site(known.get("forward"))})


def _known(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in values.items() if name in names}
