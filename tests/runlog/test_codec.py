import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.finding import PLACE_KINDS, Finding, Place, Severity
from ftlab.records.names import NameRecord
from ftlab.records.printable import harmless
from ftlab.runlog import codec

text = st.text(max_size=20).map(harmless)
steps = st.integers(0, 10**6)
places = st.builds(Place, st.sampled_from(PLACE_KINDS), text)
findings = st.builds(
    Finding,
    text,
    text,
    st.sampled_from(Severity),
    text,
    text,
    text,
    st.lists(places, min_size=1, max_size=3).map(tuple),
    steps,
    steps,
    st.dictionaries(
        text, st.floats() | st.integers(-(2**63), 2**63 - 1) | text, max_size=4
    ),
    text,
    st.integers(0, 1000),
    text,
)


def same(first, second):
    """Whether two values are equal, NaN being equal to NaN."""
    return repr(first) == repr(second)


@given(findings)
def test_a_finding_survives_as_an_event_in_json(finding):
    event = codec.finding_event(finding, 1.5)
    line = codec.dumps(codec.to_json(event))
    assert "\n" not in line
    back = codec.event_finding(codec.event_from_json(codec.loads(line)))
    assert same(back, finding)
    assert back.key == finding.key
    assert event.step == finding.last_step


def test_what_other_versions_say_of_a_finding_is_no_obstacle():
    finding = Finding(
        "AAA001", "n", Severity.INFO, "m", "c", "f", (Place("object", "o"),), 0, 1
    )
    event = codec.finding_event(finding, 0.0)
    assert "follows" not in event.detail
    later = Event("finding", 1, 0.0, "m", {**event.detail, "mood": "sunny"})
    assert codec.event_finding(later) == codec.event_finding(event) == finding


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_json_is_strict_and_keeps_what_is_not_finite(value):
    line = codec.dumps({"a": [value, 1.5], "b": {"c": np.float32(value)}})
    json.loads(line, parse_constant=pytest.fail)
    assert same(codec.loads(line), {"a": [value, 1.5], "b": {"c": value}})


def test_values_that_json_lacks_become_plain_ones_or_text():
    class Odd:
        def __str__(self):
            return "odd"

    value = {
        "n": np.int64(3),
        "a": np.arange(2),
        "s": {"b", "a"},
        1: (1, 2),
        "o": Odd(),
    }
    expected = {"n": 3, "a": [0, 1], "s": ["a", "b"], "1": [1, 2], "o": "odd"}
    assert codec.loads(codec.dumps(value)) == expected
    assert codec.loads(codec.dumps(value | {"f": math.inf})) == expected | {
        "f": math.inf
    }


def test_names_and_facts_survive():
    name = NameRecord(3, "tensors", "w", "param", "head", (2, 3), "bfloat16", False, 7)
    assert (
        codec.from_json(NameRecord, codec.loads(codec.dumps(codec.to_json(name))))
        == name
    )
    facts = Facts(2, {"torch": "2"}, {"a": [1]}, ({"class": "A"},), (), {"x": None})
    line = codec.dumps(codec.to_json(facts))
    assert codec.from_json(Facts, codec.loads(line)) == facts


def test_events_survive():
    event = Event("pause", 3, 1.5, "line\nline", {"where": "module a"})
    line = codec.dumps(codec.to_json(event))
    assert codec.event_from_json(codec.loads(line)) == event
