"""DAT038."""

from dataclasses import replace

from ftlab.records.finding import Place, Severity
from ftlab.records.template_comparison import Difference
from ftlab.rules.data.template_adds_text import SHOWN, TemplateAddsText
from tests.rules.data.talks import (
    FACTS,
    check,
    is_left_out_without_turns_and_open_on_an_empty_run,
    part,
    sample,
)
from tests.runs import only

RULE = TemplateAddsText()
OWN = replace(FACTS, system_text="Be kind.")
ADDED = part(0, 6, "", part="added")
TALK = sample(ADDED, part(6, 8))
TWO = replace(FACTS, system_text="Be kind.", system_kept=True)
TOLD = (
    part(0, 6, "", part="added"),
    part(6, 8, "system", part="header"),
    part(8, 12, "system"),
    part(12, 20),
)


def test_it_is_about_runs_with_turns():
    assert is_left_out_without_turns_and_open_on_an_empty_run(RULE)


def test_samples_begin_with_the_words_of_the_template():
    finding = only(check(RULE, TALK, facts=OWN), "info", "token 0 of sample 0")
    assert "'Be kind.'" in finding.message


def test_a_date_is_told_with_them():
    dated = replace(OWN, date="26 July", system_text="It is 26 July.")
    (finding,) = check(RULE, TALK, facts=dated)
    assert "'It is {date}.', with the date that it is given, or" in finding.message


def test_a_system_message_of_the_data_takes_their_place():
    assert check(RULE, sample(part(0, 6, "system"), part(6, 8)), facts=OWN) == ()


def test_a_text_beside_one_system_message_is_none_alone():
    both = sample(ADDED, part(6, 8, "system"), part(8, 10))
    for kept in (True, False):  # it may stand within the template's own words
        assert check(RULE, both, facts=replace(OWN, system_kept=kept)) == ()
    only(check(RULE, both, TALK, facts=replace(OWN, system_kept=True)), samples=1)


def test_bos_alone_is_no_text():
    bos = part(0, 1, "", part="added")
    assert check(RULE, sample(bos, part(1, 8)), facts=OWN) == ()


def test_a_template_without_a_text_adds_none():
    assert check(RULE, TALK) == ()


def test_the_message_of_the_data_stands_behind_the_text_of_the_template():
    (finding,) = check(RULE, sample(*TOLD), sample(*TOLD, row=1), facts=TWO)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "8 of sample 0")
    assert finding.places[1] == Place("token", "0 of sample 0")
    assert "'Be kind.'" in finding.message


def test_a_template_that_writes_one_of_them_is_right():
    kept_out = replace(TWO, system_kept=False)
    assert check(RULE, *(sample(*TOLD, row=n) for n in range(2)), facts=kept_out) == ()


def test_a_system_message_within_a_conversation_is_no_second_one():
    late = [sample(TOLD[0], part(6, 9), part(9, 12, "system"), row=n) for n in range(2)]
    only(check(RULE, *late, facts=TWO), reason="alone")


TALK_SWALLOWED = sample(part(1, 2), part(2, 3, part="end"), part(3, 5, "assistant"))


def test_each_token_is_named_once():
    facts = replace(FACTS, swallowed={"<u>": "\n", "</t>": " "})
    finding = only(check(RULE, TALK_SWALLOWED, facts=facts), "info")
    assert "'\\n'" in finding.message
    assert "'<u>', '</t>'" in finding.message
    setting = Place("config", "tokenizer.added_tokens_decoder")
    assert finding.places[:2] == (setting, Place("token", "2 of sample 0"))


def test_tokens_that_leave_all_as_it_is_are_right():
    assert check(RULE, TALK_SWALLOWED) == ()


TALK_TRAINING = sample(part(1, 3), part(4, 6, "assistant"))


def test_the_prompt_holds_what_no_row_does():
    facts = replace(FACTS, prompt_difference=Difference(9, "<think>" * 9, "Yes"))
    finding = only(check(RULE, TALK_TRAINING, facts=facts), "info")
    assert finding.place == Place("token", "4 of sample 0")
    assert finding.evidence["prompt"] == ("<think>" * 9)[:SHOWN]


def test_a_prompt_that_training_begins_with_is_right():
    assert check(RULE, TALK_TRAINING) == ()
