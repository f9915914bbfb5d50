"""What decides how much a fault of rows matters."""

from ftlab.records.data_scan import Spot
from ftlab.records.finding import Severity
from ftlab.records.scanned_rows import FoundRows, ScannedRows
from ftlab.rules.reading.row_kind import ALWAYS, NEVER, Kind

KIND = Kind("odd", "odd rows", "A slip.", "Mend it.", 0.001, 0.5)


def known(rows, total=10_000, formats=(), **about):
    found = FoundRows("odd", rows, (Spot(3, "row 3"),), **about)
    return ScannedRows("rows", total, dict(formats), (found,))


def test_shares_decide():
    assert KIND.judge(0.0001) is Severity.INFO
    assert KIND.judge(0.01) is Severity.WARNING
    assert KIND.judge(0.6) is None
    every = Kind("odd", "odd rows", "", "", ALWAYS, severity=Severity.ERROR)
    assert every.judge(1e-9) is Severity.ERROR
    assert Kind("odd", "odd rows", "", "", NEVER).judge(1.0) is Severity.INFO


def test_an_issue_has_the_numbers_and_the_places():
    issue = KIND.issue("DAT058", known(20))
    assert issue.message == "odd rows: 20 of 10,000 rows (0.2 %)"
    assert (issue.code, issue.severity, issue.share) == (
        "DAT058",
        Severity.WARNING,
        0.002,
    )
    assert [spot.row for spot in issue.spots] == [3]
    assert KIND.issue("DAT058", known(6000)) is None
    other = Kind("other", "others", "", "")
    assert other.issue("DAT058", known(20)) is None


def test_a_share_is_of_the_rows_that_can_have_it():
    among = Kind("odd", "odd rows", "", "", 0.01, 0.5, among=("text",))
    assert among.issue("", known(4, formats={"text": 10})).severity.label == "warning"
    assert among.issue("", known(6, formats={"text": 10})) is None


def test_what_is_held_is_judged_by_the_share_of_the_evaluation_data():
    issue = KIND.issue("", known(1, held=(1, 20)))
    assert issue.message.endswith("; 1 of 20 rows of the evaluation data (5 %)")
    assert issue.severity is Severity.WARNING
