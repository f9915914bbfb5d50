"""DAT019."""

from dataclasses import replace

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.bos_missing import BosMissing
from ftlab.rules.engine import Engine
from tests.rules.data.rows import BOS, EOS, SPECIAL, row, run_of, text
from tests.rules.data.talks import (
    FACTS,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)

RULE = BosMissing()
TWICE = replace(FACTS, repeats_bos=True)
OPENED = sample(part(0, 2, part="header"), part(2, 4))
CUT = sample(part(0, 4), part(4, 6, part="end"))
ROWS = [row([*text(6, n), EOS]) for n in (20, 30)]


def found(talks, rows=ROWS, facts=TWICE, special=SPECIAL):
    run = run_of(rows, special=special)
    talks = [replace(each, row=n) for n, each in enumerate(talks)]
    detail = {
        "samples": [each.as_json() for each in talks],
        "template": facts.as_json(),
    }
    run.append(Event("turns", 0, 0.0, "", detail))
    return Engine([RULE]).check(run).findings


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_conversations_begin_with_an_opening_and_no_bos():
    (finding,) = found([OPENED] * 4)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "0 of sample 0")


def test_a_template_that_writes_no_bos_wants_none():
    assert found([OPENED] * 4, facts=FACTS) == ()


def test_one_bos_anywhere_says_that_rows_were_cut():
    for ids in ([BOS, *text(6)], [*text(4), BOS, *text(3)]):
        assert found([OPENED] * 4, rows=[*ROWS, row(ids)]) == ()


def test_rows_that_begin_within_a_text_were_cut():
    assert found([OPENED] * 4 + [CUT]) == ()
    assert len(found([OPENED] * 9 + [CUT])) == 1


def test_few_samples_say_nothing():
    assert found([OPENED] * 3) == ()


def test_an_opening_behind_something_else_is_no_beginning():
    late = sample(part(1, 2, part="header"), part(2, 4))
    assert found([late] * 4) == ()


def test_a_tokenizer_without_bos_has_none_to_miss():
    known = {kind: ids for kind, ids in SPECIAL.items() if kind != "bos"}
    assert found([OPENED] * 4, special=known) == ()
