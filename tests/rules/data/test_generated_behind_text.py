"""DAT042."""

from ftlab.records.finding import Place
from ftlab.rules.data.generated_behind_text import GeneratedBehindText
from tests.rules.data.rows import EOS, TURN, row, run_of, text
from tests.runs import RunBuilder, found_by, only, report_by

LEFT = {"call": 0, "rows": 4, "width": 9}
RIGHT = LEFT | {"end_in_padding": 2, "first": 1}


def report(*calls):
    builder = RunBuilder()
    for call in calls:
        builder.step(ops=[("generate", "model", call)])
    return report_by(GeneratedBehindText(), builder.run)


def test_prompts_that_end_in_text_are_fine():
    assert report(LEFT, LEFT).findings == ()
    assert report(LEFT).not_checked == ()


def test_the_first_prompt_that_ends_in_padding_is_named():
    finding = only(report(LEFT, RIGHT, LEFT, RIGHT).findings, "warning", steps=(1, 3))
    assert Place("token", "8 of sample 1") in finding.places
    assert "2 prompts of 4" in finding.message
    assert finding.evidence["generations"] == 2


RULE = GeneratedBehindText()
OVER = {"call": 0, "rows": 4, "width": 9, "ended": 3, "at": 1, "end": EOS}
ENDED = [row([*text(n, 10 + n), EOS, 70]) for n in (4, 6, 7, 9)]


def found(rows, detail):
    run = run_of(rows, ops=[("generate", "model", detail)])
    return found_by(RULE, run)


def test_prompts_that_are_over_are_named():
    finding = only(found(ENDED, OVER), "warning", "token 8 of sample 1")
    assert "3 prompts of 4" in finding.message


def test_prompts_that_go_on_are_fine():
    assert found(ENDED, {"call": 0, "rows": 4, "width": 9}) == ()


def test_an_end_before_answers_is_fine():
    talk = row([*text(4), EOS, *text(5, 30), EOS])
    assert found([*ENDED, talk], OVER) == ()


def test_an_end_that_no_sample_has_proves_nothing():
    assert found([row([*text(n), TURN]) for n in (4, 6, 7, 9)], OVER) == ()
    assert found(ENDED[:3], OVER) == ()
