"""DAT014."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.prompt_twice import PromptTwice
from tests.rules.data.rows import (
    BOS,
    TURN,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = PromptTwice()


def doubled(number, length=6):
    prompt = text(length, number)
    return row([BOS, *prompt, *prompt, 7, number])


def plain(number):
    return row([BOS, *text(9, number)])


DOUBLED = [doubled(n) for n in range(10, 18)]


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_prompts_stand_twice():
    (finding,) = check(RULE, DOUBLED)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "7 of sample 0")
    assert finding.evidence["samples"] == finding.evidence["all"] == 8


def test_some_rows_may_begin_twice():
    assert check(RULE, [*DOUBLED, plain(30), plain(31)]) == ()
    assert check(RULE, DOUBLED[:3]) == ()


def test_control_tokens_are_not_quoted():
    marked = [[TURN, *text(5, n), TURN] for n in range(10, 15)]
    rows = [row([BOS, *each, *each, 7, 8]) for each in marked]
    (finding,) = check(RULE, [*rows, plain(30), plain(31)])
    assert finding.evidence["threshold"] == 0.5


def spaced(number, second):
    prompt = text(5, number)
    return row([BOS, 5, *prompt, *second, *prompt, 9, 8])


def test_a_space_in_front_makes_another_token_of_a_word():
    pieces = {5: "User", 6: "\u0120User", 7: "\u0120U", 8: "ser"}
    for second in ([6], [7, 8]):
        rows = [spaced(n, second) for n in range(10, 15)]
        assert check(RULE, rows, pieces=pieces)
        assert check(RULE, rows) == ()


def test_an_answer_that_quotes_a_question_has_no_role_in_front():
    pieces = {5: "User", 6: "Bot"}
    rows = [spaced(n, [6]) for n in range(10, 15)]
    assert check(RULE, rows, pieces=pieces) == ()
