"""Records as JSON values and back; findings as events and back."""

import dataclasses
import enum
import functools
import json
import math
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ftlab.records.batch_facts import SeenBatches
from ftlab.records.event import Event
from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.pair_facts import SeenPairs
from ftlab.records.printable import harmless
from ftlab.records.sample_facts import SeenSamples
from ftlab.records.turn_facts import SampleTurns

Record = TypeVar("Record")

_FLOAT = "$float"
_UNUSUAL = re.compile(r"[^\x00-\x7f]|\x7f|\\[bfru]")


def dumps(value: Any) -> str:
    """Return strict JSON on one line; NaN and infinities survive, as tagged text."""
    try:
        return _ENCODER.encode(value)
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
    if len(value) == 1 and isinstance(value.get(_FLOAT), str):
        return float(value[_FLOAT])
    return value


_ENCODER = json.JSONEncoder(allow_nan=False, default=_default)
_DECODER = json.JSONDecoder(object_hook=_untagged)


def loads(text: str | bytes) -> Any:
    """Read what `dumps` wrote; others may have written what a terminal obeys."""
    text = text if isinstance(text, str) else text.decode()
    value = _DECODER.decode(text)
    return harmless(value) if _UNUSUAL.search(text) else value


def to_json(record: Any) -> dict[str, Any]:
    """Return the fields of a record, as they are."""
    return {
        field.name: getattr(record, field.name) for field in dataclasses.fields(record)
    }


def from_json(kind: type[Record], value: Mapping[str, Any]) -> Record:
    """Make a record of its fields, each of which must be of its type.

    Raises
    ------
    TypeError
        A field is missing, unknown, or something else than it should be.
    """
    hints = _hints(kind)
    fields = {name: _fitting(hints.get(name), each) for name, each in value.items()}
    return kind(**fields)


_hints: Callable[[Any], dict[str, Any]] = functools.cache(get_type_hints)


def _fitting(hint: Any, value: Any) -> Any:
    """Return ``value`` as ``hint`` has it: lists of JSON become tuples."""
    usual = type(value) is hint and (hint is not int or abs(value) < 2**63)
    if usual or hint is None or hint is Any:
        return value
    origin, parts = get_origin(hint), get_args(hint)
    if hint is float and type(value) is int:
        return float(value)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_fitting(parts[0], each) for each in value)
    if origin is Mapping and isinstance(value, dict):
        return {key: _fitting(parts[1], each) for key, each in value.items()}
    if origin is Literal:  # later versions may know others
        hint = type(parts[0])
    kinds = parts if origin in (types.UnionType, Union) else (hint,)
    if type(value) not in kinds and not isinstance(value, enum.Enum | Place):
        msg = f"{value!r:.80} is no {hint}"
        raise TypeError(msg)
    if type(value) is int and not -(2**63) <= value < 2**63:
        msg = f"{value:.3g} is beyond all counts"
        raise ValueError(msg)
    return value


def event_from_json(value: Mapping[str, Any]) -> Event:
    """Read what `to_json` gave of an event."""
    event = from_json(Event, value)
    if event.kind in _DETAILS:
        _DETAILS[event.kind](event)  # which may be damaged as well
    return event


def _sample(event: Event) -> None:
    numbers = ("keep", "micro_batch", "sample", "loss", "tokens", "usual")
    math.fsum(event.detail[name] for name in numbers)
    " ".join([event.detail["text"], *map(str, event.detail["ids"])])


def finding_event(finding: Finding, time: float) -> Event:
    """Return the event that says that ``finding`` was found, at its last step.

    See Also
    --------
    event_finding : Reads the finding back.
    """
    detail = to_json(finding)
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
    places = (Place(kind, name) for kind, name in detail["places"])
    detail["places"] = tuple(from_json(Place, asdict(each)) for each in places)
    return from_json(Finding, detail)


def merged(before: Finding | None, now: Finding) -> Finding:
    """Return ``now`` with the steps of the same finding seen ``before`` included."""
    if before is None:
        return now
    return dataclasses.replace(
        now,
        first_step=min(before.first_step, now.first_step),
        last_step=max(before.last_step, now.last_step),
    )


_DETAILS: Mapping[str, Callable[[Event], object]] = {
    "finding": event_finding,
    "sample": _sample,
    "rows": lambda event: {
        each.identity
        for each in SeenSamples.from_json(event.step, event.detail).samples
    },
    "turns": lambda event: [*map(SampleTurns.from_json, event.detail["samples"])],
    "pairs": lambda event: [*map(SeenPairs.from_json, event.detail["forms"])],
    "batch": lambda event: SeenBatches.from_json(event.detail),
}
"""What others make of the details of an event."""
