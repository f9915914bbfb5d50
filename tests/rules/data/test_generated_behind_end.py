"""DAT054."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.generated_behind_end import GeneratedBehindEnd
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run
from tests.rules.data.rows import EOS, TURN, row, run_of, text
from tests.runs import healthy_lora

RULE = GeneratedBehindEnd()
OVER = {"call": 0, "rows": 4, "width": 9, "ended": 3, "at": 1, "end": EOS}
ENDED = [row([*text(n, 10 + n), EOS, 70]) for n in (4, 6, 7, 9)]


def found(rows, detail):
    run = run_of(rows, ops=[("generate", "model", detail)])
    return Engine([RULE]).check(run).findings


def test_runs_without_generations_are_not_judged():
    assert len(Engine([RULE]).check(Run()).not_checked) == 1
    assert Engine([RULE]).check(healthy_lora().run).not_checked == ()


def test_prompts_that_are_over_are_named():
    (finding,) = found(ENDED, OVER)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "8 of sample 1")
    assert "3 prompts of 4" in finding.message


def test_prompts_that_go_on_are_fine():
    assert found(ENDED, {"call": 0, "rows": 4, "width": 9}) == ()


def test_an_end_before_answers_is_fine():
    talk = row([*text(4), EOS, *text(5, 30), EOS])
    assert found([*ENDED, talk], OVER) == ()


def test_an_end_that_no_sample_has_proves_nothing():
    assert found([row([*text(n), TURN]) for n in (4, 6, 7, 9)], OVER) == ()
    assert found(ENDED[:3], OVER) == ()
