"""MOD014: what was frozen or thawed otherwise than it was written."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.model.freezing_off_target import FreezingOffTarget
from tests.runs import RunBuilder, found_by, only


def check(peft=None, **freezing):
    model = {"peft": peft or {}, "freezing": freezing}
    run = RunBuilder().facts(model=model).step().run
    return found_by(FreezingOffTarget(), run)


def mark(*, value=False, own=False, place="encoder"):
    names = {"count": 1, "names": [f"{place}.weight"]}
    return {
        "place": place,
        "class": "Encoder",
        "attribute": "requires_grad",
        "value": value,
        "own": own,
        "parameters": names,
    }


def blocks(caught=(10, 11), *, ends=False):
    return {
        "path": "model.layers",
        "blocks": 12,
        "chosen": [1, *caught],
        "caught": list(caught),
        "begins": [1],
        "frozen": True,
        "ends": ends,
        "parameters": {"count": 1, "names": ["model.layers.10.weight"]},
    }


def test_marks_of_one_kind_are_one_finding():
    finding = only(check(attributes=[mark(), mark(place="tower")]), "warning")
    assert finding.place == Place("param", "encoder.weight")
    assert "requires_grad_(False)" in finding.fix
    assert "encoder" in finding.message
    assert "tower" in finding.message


@pytest.mark.parametrize(
    ("one", "peft", "severity"),
    [
        (mark(own=True), {}, Severity.INFO),
        (mark(value=True), {}, Severity.WARNING),
        (mark(value=True), {"default": {}}, Severity.INFO),
        (mark(), {"default": {}}, Severity.WARNING),
    ],
)
def test_what_may_be_meant_is_noted(one, peft, severity):
    only(check(peft, attributes=[one]), severity.label)


@pytest.mark.parametrize(
    ("one", "severity"),
    [
        (blocks(), Severity.WARNING),
        (blocks(ends=True), Severity.INFO),
        (blocks((10,)), Severity.INFO),
    ],
)
def test_blocks_by_digits_are_a_warning_where_they_are_sure(one, severity):
    finding = only(check(numbered=[one]), severity.label)
    assert Place("module", "model.layers.10") in finding.places
    assert "'layers.1.'" in finding.fix
