"""DAT045."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.positions_beyond_range import PositionsBeyondRange
from ftlab.rules.engine import Engine
from tests.rules.data.test_attention_across_documents import check
from tests.runs import RunBuilder

RULE = PositionsBeyondRange()


def test_names_the_first_token_beyond():
    beyond = {"row": 1, "token": 64, "last": 75, "limit": 64}
    (finding,) = check(RULE, [], beyond=beyond)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "64 of sample 1")
    assert "76 positions in a row of a model for 64" in finding.message


def test_rows_within_the_positions_are_left_in_peace():
    assert check(RULE, []) == ()


def test_a_run_without_attention_is_not_checked():
    report = Engine([RULE]).check(RunBuilder().facts(model={"class": "L"}).run)
    assert report.findings == ()
    assert [each.code for each in report.not_checked] == [RULE.code]
