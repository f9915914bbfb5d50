"""DAT016."""

from dataclasses import replace

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.two_system_turns import TwoSystemTurns
from tests.rules.data.talks import (
    FACTS,
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)

RULE = TwoSystemTurns()
TWO = replace(FACTS, system_text="Be kind.", system_kept=True)
TOLD = (
    part(0, 6, "", part="added"),
    part(6, 8, "system", part="header"),
    part(8, 12, "system"),
    part(12, 20),
)


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_the_message_of_the_data_stands_behind_the_text_of_the_template():
    (finding,) = check(RULE, sample(*TOLD), sample(*TOLD, row=1), facts=TWO)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "8 of sample 0")
    assert finding.places[1] == Place("token", "0 of sample 0")
    assert "'Be kind.'" in finding.message


def test_one_of_them_alone_is_right():
    alone = [sample(TOLD[0], part(6, 14), row=n) for n in range(2)]
    assert check(RULE, *alone, facts=TWO) == ()
    kept_out = replace(TWO, system_kept=False)
    assert check(RULE, *(sample(*TOLD, row=n) for n in range(2)), facts=kept_out) == ()


def test_a_system_message_within_a_conversation_is_no_second_one():
    late = [sample(TOLD[0], part(6, 9), part(9, 12, "system"), row=n) for n in range(2)]
    assert check(RULE, *late, facts=TWO) == ()
