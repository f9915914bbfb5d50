"""Rules about the rows of a dataset, all of them."""

import pytest

from ftlab.records.data_scan import Spot
from ftlab.records.event import Event
from ftlab.records.scanned_rows import FoundRows, ScannedRows
from ftlab.rules.dataset_issues import row_rules
from ftlab.rules.reading.dataset import place_of
from tests.runs import RunBuilder, report_by

RULES = row_rules()
KINDS = [
    pytest.param(rule, kind, id=kind.name) for rule in RULES for kind in rule.kinds
]
TOTAL = 100_000


def report(rule, kind, rows):
    found = FoundRows(kind.name, rows, (Spot(3, "line 4", "text", 2),))
    formats = {kind.among[0]: TOTAL} if kind.among else {}
    known = ScannedRows("rows.jsonl", TOTAL, formats, (found,))
    builder = RunBuilder().facts(model={"class": "Llama"})
    builder.run.append(Event("dataset", 0, 0.0, "", known.as_json()))
    return report_by(rule, builder.run)


@pytest.mark.parametrize(("rule", "kind"), KINDS)
def test_the_share_of_the_page_decides(rule, kind):
    bound = max(int(kind.warns_from * TOTAL), 1)
    if bound <= TOTAL:
        (finding,) = report(rule, kind, bound).findings
        assert finding.severity is kind.severity
        assert str(finding.place) == "data line 4 text character 2"
        assert finding.evidence["reason"] == kind.name
    if bound > 1:
        (finding,) = report(rule, kind, bound - 1).findings
        assert finding.severity.label == "info"
    if kind.meant_above < 1:
        assert report(rule, kind, int(kind.meant_above * TOTAL) + 1).findings == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_share_of_a_kind_stands_in_the_page(rule):
    page = __import__(type(rule).__module__, fromlist=["KINDS"]).__doc__
    for kind in rule.kinds:
        shares = [s for s in (kind.warns_from, kind.meant_above) if 0 < s <= 1]
        assert all(f"{share:g}" in page for share in shares), kind.name


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_run_whose_dataset_nobody_looked_at_is_left_out(rule):
    trained = RunBuilder().facts(model={"class": "Llama"}).step().run
    assert report_by(rule, trained).not_checked == ()
    (left,) = report_by(rule, RunBuilder().run).not_checked
    assert "ftlab.data" in left.record


def test_a_place_is_as_exact_as_what_is_known():
    assert str(place_of(Spot(7, "row 7"))) == "data row 7"
    assert str(place_of(Spot(7, "row 7", "messages"))) == "data row 7 messages"
