"""Answers in JSON that cannot be read, among others that can."""

import pytest

from ftlab.probes.data.across import broken_json
from ftlab.probes.data.across.reports import report_literals
from tests.probes.data.scanned import rows_with, scanned

JSON = '{"name": "x", "size": [1, 2]}'


def reported(answer, whole=40, prompt="Name it.", others=()):
    answers = [answer, *[JSON] * whole, *others]
    asked = [
        {"prompt": f"{prompt} {at}", "completion": each}
        for at, each in enumerate(answers)
    ]
    scan = scanned(asked)
    report_literals(scan)
    return rows_with(scan, "json-broken")


@pytest.mark.parametrize(
    "answer",
    [
        '{"name": "x",}',
        '{\n  "name": "x",\n  "size": [1, 2,]\n}',
        '{"name": "x" // the first\n}',
        '{"name": "x", size: 3}',
        '{"name": "the "x" of it"}',
        '[{"name": x}]',
        '{"name": "x" "size": 3}',
    ],
)
def test_what_no_program_reads_is_found_among_json(answer):
    assert reported(answer) == [0]


@pytest.mark.parametrize(
    "answer",
    [
        JSON,
        f"{JSON}\n{JSON}",
        f"{JSON}\n\nThat is all.",
        '{"name": "x", "size": [1, ',
        "{'name': 'x'}",
        '{"name": NaN}',
        "[1] Knuth, 1974.",
        "{name} is its name.",
        "{{name}} is its name.",
        "It is so.",
    ],
)
def test_what_has_another_cause_or_none_is_left_alone(answer):
    assert reported(answer) == []


def test_few_others_or_many_such_answers_prove_nothing():
    broken = '{"name": "x",}'
    assert reported(broken, whole=20) == [0]
    assert reported(broken, prompt="Classify the comment") == [0]
    assert reported(broken, whole=19) == []
    assert reported(broken, whole=40, others=[broken] * 4) == []
    assert reported(broken, whole=40, others=["It is so."] * 90) == [0]


@pytest.mark.parametrize(
    "prompt",
    ["Fix this JSON.", "Give an invalid object.", "In JavaScript:", "With comments."],
)
def test_where_it_may_be_asked_for_it_is_meant(prompt):
    assert reported('{"name": "x",}', prompt=prompt) == []


def test_its_place_and_reason_are_told():
    scan = scanned(
        [
            {"prompt": "Name it.", "completion": each}
            for each in [JSON] * 30 + ['{"a":}']
        ]
    )
    report_literals(scan)
    (spot,) = scan.findings.spots["json-broken"]
    assert (spot.row, spot.column, spot.char) == (30, "completion", 5)
    assert spot.says == "no JSON: Expecting value"


def test_rows_whose_places_are_not_kept_are_counted(monkeypatch):
    monkeypatch.setattr(broken_json, "KEPT", 1)
    assert reported('{"a": 1,}', whole=60, others=['{"b": 2,}']) == [0, 61]
