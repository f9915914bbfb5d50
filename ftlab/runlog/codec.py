"""Records as JSON values and back; findings as events and back."""

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.names import NameRecord

_FLOAT = "$float"


def dumps(value: Any) -> str:
    """Return strict JSON on one line; NaN and infinities survive, as tagged text."""
    try:
        return json.dumps(value, allow_nan=False, default=_default)
    except ValueError:
        return json.dumps(_tagged(value), allow_nan=False)


def _default(value: Any) -> Any:
    """Turn NumPy values, mappings and sequences into plain ones; the rest into text."""
    if hasattr(value, "tolist"):
        return _tagged(value.tolist())
    if isinstance(value, Mapping):
        return _tagged(value)
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return str(value)


def _tagged(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else {_FLOAT: repr(float(value))}
    if isinstance(value, (str, int, type(None))):
        return value
    if isinstance(value, Mapping):
        return {str(key): _tagged(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_tagged(entry) for entry in value]
    return _default(value)


def _untagged(value: dict[str, Any]) -> Any:
    if len(value) == 1 and _FLOAT in value:
        return float(value[_FLOAT])
    return value


_DECODER = json.JSONDecoder(object_hook=_untagged)


def loads(text: str | bytes) -> Any:
    """Read what `dumps` wrote."""
    return _DECODER.decode(text if isinstance(text, str) else text.decode())


def name_to_json(record: NameRecord) -> dict[str, Any]:
    """Return the fields of a name."""
    return {
        field.name: getattr(record, field.name) for field in dataclasses.fields(record)
    }


def name_from_json(value: Mapping[str, Any]) -> NameRecord:
    """Read what `name_to_json` gave."""
    return NameRecord(**{**value, "shape": tuple(value["shape"])})


def event_to_json(event: Event) -> dict[str, Any]:
    """Return the fields of an event."""
    return {
        "kind": event.kind,
        "step": event.step,
        "time": event.time,
        "message": event.message,
        "detail": event.detail,
    }


def event_from_json(value: Mapping[str, Any]) -> Event:
    """Read what `event_to_json` gave."""
    return Event(**value)


def facts_to_json(facts: Facts) -> dict[str, Any]:
    """Return the fields of the facts."""
    return {
        field.name: getattr(facts, field.name) for field in dataclasses.fields(facts)
    }


def facts_from_json(value: Mapping[str, Any]) -> Facts:
    """Read what `facts_to_json` gave."""
    lists = {name: tuple(value[name]) for name in ("optimizers", "schedulers")}
    return Facts(**{**value, **lists})


def finding_event(finding: Finding, time: float) -> Event:
    """Return the event that says that ``finding`` was found, at its last step.

    See Also
    --------
    event_finding : Reads the finding back.
    """
    detail: dict[str, Any] = {
        field.name: getattr(finding, field.name)
        for field in dataclasses.fields(finding)
    }
    detail["severity"] = finding.severity.label
    detail["places"] = [[place.kind, place.name] for place in finding.places]
    detail["evidence"] = dict(finding.evidence)
    if not finding.follows:  # came later than schema 1, which stays as it was
        del detail["follows"]
    return Event("finding", finding.last_step, time, finding.message, detail)


def event_finding(event: Event) -> Finding:
    """Return the finding of an event that `finding_event` made."""
    known = {each.name for each in dataclasses.fields(Finding)}
    # A later ftlab of the same schema may say more of a finding.
    detail = {name: value for name, value in event.detail.items() if name in known}
    detail["severity"] = Severity.parse(detail["severity"])
    detail["places"] = tuple(Place(*place) for place in detail["places"])
    return Finding(**detail)


def merged(before: Finding | None, now: Finding) -> Finding:
    """Return ``now`` with the steps of the same finding seen ``before`` included."""
    if before is None:
        return now
    return dataclasses.replace(
        now,
        first_step=min(before.first_step, now.first_step),
        last_step=max(before.last_step, now.last_step),
    )
