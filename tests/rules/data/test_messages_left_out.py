"""DAT039."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.messages_left_out import MessagesLeftOut
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora

RULE = MessagesLeftOut()


def check(*found, rows=8):
    told = {"left_out": {"rows": rows, "found": list(found)}}
    run = RunBuilder().facts(model={"class": "Llama"}, training=told).step().run
    return Engine([RULE]).check(run).findings


def lost(kind, rows):
    return {"kind": kind, "rows": rows, "row": 3, "message": 1}


def test_it_is_about_datasets_that_keep_their_messages():
    known = RunBuilder().facts(model={"class": "L"}).step().run
    report = Engine([RULE]).check(known)
    assert (report.findings, report.not_checked) == ((), ())
    report = Engine([RULE]).check(RunBuilder().run)
    assert [each.code for each in report.not_checked] == [RULE.code]
    assert Engine([RULE]).check(healthy_lora().run).findings == ()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("system", "system messages are not in the ids"),
        ("tool", "results of tools are not in the ids"),
        ("tool calls", "tool calls are not in the ids"),
        ("reasoning", "reasoning is not in the ids"),
        ("indentation", "the indentation of an answer's first line is not in the ids"),
    ],
)
def test_each_kind_is_told_in_words(kind, words):
    (finding,) = check(lost(kind, 8))
    assert finding.severity is Severity.WARNING
    assert words in finding.message
    assert finding.place == Place("data", "message 1 of row 3")


def test_a_few_rows_are_a_note():
    (finding,) = check(lost("system", 3))
    assert finding.severity is Severity.INFO
    (finding,) = check(lost("system", 1), rows=2)
    assert finding.severity is Severity.INFO


def test_the_only_row_there_is_is_enough():
    (finding,) = check(lost("system", 1), rows=1)
    assert finding.severity is Severity.WARNING
    assert finding.message == "system messages are not in the ids"


def test_what_is_written_is_right():
    assert check() == ()
