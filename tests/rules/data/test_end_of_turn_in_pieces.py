"""DAT032."""

from dataclasses import replace

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.end_of_turn_in_pieces import EndOfTurnInPieces
from tests.rules.data.talks import (
    FACTS,
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)

RULE = EndOfTurnInPieces()
TALK = sample(
    part(1, 2),
    part(2, 3, part="end"),
    part(3, 5, "assistant"),
    part(5, 12, "assistant", part="end"),
)
SPELT = replace(FACTS, stops={}, pieces={"<u>": 5, "</t>": 7})


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_the_end_of_an_answer_is_spelt():
    (finding,) = check(RULE, TALK, facts=SPELT)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "5 of sample 0")
    assert finding.evidence["pieces"] == 7


def test_openings_may_be_spelt():
    facts = replace(FACTS, pieces={"<u>": 5, "</t>": 1})
    assert check(RULE, TALK, facts=facts) == ()


def test_one_token_among_them_is_an_end():
    assert check(RULE, TALK, facts=replace(SPELT, stops={"template": (3,)})) == ()


def test_one_of_two_strings_may_be_spelt():
    both = replace(SPELT, last_ends={"assistant": "</t><e>"})
    facts = replace(both, pieces={"</t>": 7, "<e>": 1})
    assert check(RULE, TALK, facts=facts) == ()


def test_an_end_without_control_strings_is_another_matter():
    assert check(RULE, TALK, facts=replace(SPELT, pieces={"<u>": 5})) == ()
