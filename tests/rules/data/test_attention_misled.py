"""DAT007."""

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.attention_misled import AttentionMisled
from tests.rules.data.rows import EOS, PAD, SPECIAL, check, row, text
from tests.runs import RunBuilder, found_by, only, report_by

RULE = AttentionMisled()


def inverted(length, pad=PAD, labels="all"):
    pads = 7 - length
    ids = [*text(length), *[pad] * pads]
    return row(ids, labels, [0] * length + [1] * pads)


def test_padding_is_all_that_is_seen():
    only(check(RULE, [inverted(4), inverted(5)]), place="token 4 of sample 0")


def test_labels_may_follow_the_mask():
    rows = [inverted(n, labels=[-100] * n + [PAD] * (7 - n)) for n in (4, 5)]
    assert check(RULE, rows)


def test_padding_that_ends_texts_is_told_by_the_hidden_labels():
    special = SPECIAL | {"pad": {EOS}}
    rows = [inverted(n, pad=EOS) for n in (4, 5)]
    assert check(RULE, rows, special=special)
    alone = [row([EOS] * n, mask=[1] * n) for n in (1, 2)]
    assert check(RULE, alone, special=special) == ()


def test_rows_that_fill_up_a_batch_have_no_labels():
    rows = [row([PAD] * n, [-100] * n, [1] * n) for n in (4, 5)]
    assert check(RULE, rows) == ()


def test_padding_that_is_seen_beside_text_is_another_fault():
    rows = [row([PAD, PAD, *text(n)]) for n in (4, 5)]
    assert check(RULE, rows) == ()


def place(fault="other sample", share=0.4, **more):
    known = {"row": 2, "fault": fault, "kind": "full", "share": share, "tokens": 9}
    return {**known, "query": 17, "key": 0, "told_by": "position ids", **more}


def check_documents(rule, places, tokenizer="BPE", **detail):
    known = {"mask": True, "cache": False, "positions": True, "places": places}
    known_as = {"tokenizer": tokenizer} if tokenizer else {}
    builder = RunBuilder().facts(model={"class": "Llama"}, training=known_as)
    builder.step()
    builder.run.append(Event("attention", 0, 0.0, "", known | detail))
    return found_by(rule, builder.run)


def test_names_the_first_token_that_sees_another_document():
    (finding,) = check_documents(RULE, [place(), place(row=3, share=0.2, query=5)])
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
    (finding,) = check_documents(RULE, [place()], **detail)
    assert cause in finding.cause


def test_documents_by_bos_alone_may_be_meant():
    only(check_documents(RULE, [place(told_by="BOS")]), "info")


def test_ids_without_a_tokenizer_hold_no_bos_that_is_known():
    assert check_documents(RULE, [place(told_by="BOS")], tokenizer=None) == ()
    assert len(check_documents(RULE, [place()], tokenizer=None)) == 1


def test_a_share_of_nothing_is_left_in_peace():
    assert check_documents(RULE, [place(share=0.0005)]) == ()
    assert check_documents(RULE, []) == ()


def test_a_run_without_attention_is_not_checked():
    report = report_by(RULE, RunBuilder().facts(model={"class": "L"}).run)
    assert report.findings == ()
    assert [each.code for each in report.not_checked] == [RULE.code]


def test_names_the_first_token_that_sees_padding():
    (finding,) = check_documents(RULE, [place("padding")], mask=False)
    assert finding.place == Place("token", "17 of sample 2")
    assert "given no attention_mask" in finding.cause


def test_a_mask_that_is_not_0_there_is_the_cause():
    (finding,) = check_documents(RULE, [place("padding")])
    assert "not 0 at the padding" in finding.cause


def test_a_share_of_nothing_is_left_in_peace_attended():
    assert check_documents(RULE, [place("padding", share=0.0001)]) == ()


def shift(token=5, reason="padding", **more):
    return {"row": 2, "token": token, "by": token, "reason": reason, **more}


def test_names_each_text_that_begins_too_late():
    (finding,) = check_documents(RULE, [], shifts=[shift(), shift(7, row=3)])
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "5 of sample 2")
    assert Place("sample", "3") in finding.places
    assert "7 positions too late" in finding.message
    assert finding.evidence["reason"] == "padding"


def test_documents_and_padding_are_told_apart():
    both = check_documents(RULE, [], shifts=[shift(9, "documents"), shift()])
    assert [each.evidence["reason"] for each in both] == ["padding", "documents-run-on"]
    assert "begin again at each document" in both[1].fix


def test_texts_in_their_place_are_left_in_peace():
    assert check_documents(RULE, [], shifts=[]) == ()


def test_names_the_first_token_beyond():
    beyond = {"row": 1, "token": 64, "last": 75, "limit": 64}
    finding = only(check_documents(RULE, [], beyond=beyond), "warning")
    assert finding.place == Place("token", "64 of sample 1")
    assert "76 positions in a row of a model for 64" in finding.message


def test_rows_within_the_positions_are_left_in_peace():
    assert check_documents(RULE, []) == ()
