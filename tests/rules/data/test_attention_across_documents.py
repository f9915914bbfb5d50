"""DAT050."""

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.attention_across_documents import AttentionAcrossDocuments
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder

RULE = AttentionAcrossDocuments()


def place(fault="other sample", share=0.4, **more):
    known = {"row": 2, "fault": fault, "kind": "full", "share": share, "tokens": 9}
    return {**known, "query": 17, "key": 0, "told_by": "position ids", **more}


def check(rule, places, tokenizer="BPE", **detail):
    known = {"mask": True, "cache": False, "positions": True, "places": places}
    known_as = {"tokenizer": tokenizer} if tokenizer else {}
    builder = RunBuilder().facts(model={"class": "Llama"}, training=known_as)
    builder.step()
    builder.run.append(Event("attention", 0, 0.0, "", known | detail))
    return Engine([rule]).check(builder.run).findings


def test_names_the_first_token_that_sees_another_document():
    (finding,) = check(RULE, [place(), place(row=3, share=0.2, query=5)])
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "17 of sample 2")
    assert finding.evidence["share"] == 0.4
    assert "attention_mask beside position_ids" in finding.cause


@pytest.mark.parametrize(
    ("detail", "cause"),
    [
        ({"mask": False, "cache": True}, "A cache keeps"),
        ({"mask": False, "positions": False}, "given no position_ids"),
        ({"mask": False}, "do not look at position_ids"),
    ],
)
def test_tells_the_cause(detail, cause):
    (finding,) = check(RULE, [place()], **detail)
    assert cause in finding.cause


def test_documents_by_bos_alone_may_be_meant():
    (finding,) = check(RULE, [place(told_by="BOS")])
    assert finding.severity is Severity.INFO


def test_ids_without_a_tokenizer_hold_no_bos_that_is_known():
    assert check(RULE, [place(told_by="BOS")], tokenizer=None) == ()
    assert len(check(RULE, [place()], tokenizer=None)) == 1


def test_a_share_of_nothing_is_left_in_peace():
    assert check(RULE, [place(share=0.0005)]) == ()
    assert check(RULE, [place("padding")]) == ()
    assert check(RULE, []) == ()


def test_a_run_without_attention_is_not_checked():
    report = Engine([RULE]).check(RunBuilder().facts(model={"class": "L"}).run)
    assert report.findings == ()
    assert [each.code for each in report.not_checked] == [RULE.code]
