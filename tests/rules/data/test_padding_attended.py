"""DAT051."""

from ftlab.records.finding import Place
from ftlab.rules.data.padding_attended import PaddingAttended
from ftlab.rules.engine import Engine
from tests.rules.data.test_attention_across_documents import check, place
from tests.runs import RunBuilder

RULE = PaddingAttended()


def test_names_the_first_token_that_sees_padding():
    (finding,) = check(RULE, [place("padding")], mask=False)
    assert finding.place == Place("token", "17 of sample 2")
    assert "given no attention_mask" in finding.cause


def test_a_mask_that_is_not_0_there_is_the_cause():
    (finding,) = check(RULE, [place("padding")])
    assert "not 0 at the padding" in finding.cause


def test_documents_are_the_other_rule():
    assert check(RULE, [place()]) == ()


def test_a_share_of_nothing_is_left_in_peace():
    assert check(RULE, [place("padding", share=0.0001)]) == ()


def test_a_run_without_attention_is_not_checked():
    report = Engine([RULE]).check(RunBuilder().facts(model={"class": "L"}).run)
    assert report.findings == ()
    assert [each.code for each in report.not_checked] == [RULE.code]
