"""DAT044."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.positions_shifted import PositionsShifted
from ftlab.rules.engine import Engine
from tests.rules.data.test_attention_across_documents import check, place
from tests.runs import RunBuilder

RULE = PositionsShifted()


def shift(token=5, reason="padding", **more):
    return {"row": 2, "token": token, "by": token, "reason": reason, **more}


def test_names_each_text_that_begins_too_late():
    (finding,) = check(RULE, [], shifts=[shift(), shift(7, row=3)])
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "5 of sample 2")
    assert Place("sample", "3") in finding.places
    assert "7 positions too late" in finding.message
    assert finding.evidence["reason"] == "padding"


def test_documents_and_padding_are_told_apart():
    both = check(RULE, [], shifts=[shift(9, "documents"), shift()])
    assert [each.evidence["reason"] for each in both] == ["padding", "documents"]
    assert "begin again at each document" in both[1].fix


def test_texts_in_their_place_are_left_in_peace():
    assert check(RULE, [], shifts=[]) == ()


def test_what_attends_to_padding_is_another_rule():
    assert check(RULE, [place("padding")]) == ()


def test_a_run_without_attention_is_not_checked():
    report = Engine([RULE]).check(RunBuilder().facts(model={"class": "L"}).run)
    assert report.findings == ()
    assert [each.code for each in report.not_checked] == [RULE.code]
