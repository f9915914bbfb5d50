"""DAT046."""

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place
from ftlab.records.template import TemplateFacts
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.data.conversations_run_together import ConversationsRunTogether
from tests.runs import RunBuilder, found_by, only

RULE = ConversationsRunTogether()
OPENED = TemplateFacts(digest="1", beginning="<s>")
PLAIN = TemplateFacts(digest="1")


def sample(*roles, row=0):
    """Parts of ten positions: ``""`` for what begins a conversation."""
    turns, at = [], 0
    for role in roles:
        parts = ("header", "text", "end") if role else ("added",)
        for part in parts:
            turns.append(TurnFacts(at, at + 10, role, part, 10, at))
            at += 10
    return SampleTurns(row, 0, 0, at, True, at, tuple(turns))


CHAT = ("user", "assistant")
TWO = sample("", *CHAT, "", *CHAT)
SYSTEM = ("system", *CHAT)


def check(*samples, template=OPENED, **detail):
    builder = RunBuilder().facts(model={"class": "Llama"}, training={"tokenizer": "B"})
    builder.step()
    known = {"samples": [s.as_json() for s in samples], "template": template.as_json()}
    builder.run.append(Event("turns", 0, 0.0, "", known))
    looked = {"rows": 1, "places": [], **detail}
    builder.run.append(Event("attention", 0, 0.0, "", looked))
    return found_by(RULE, builder.run)


def test_what_begins_a_conversation_stands_within_samples():
    finding = only(check(TWO, sample("", *CHAT, "", *CHAT, row=1)), "warning")
    assert finding.place == Place("token", "70 of sample 0")
    assert Place("token", "70 of sample 1") in finding.places
    assert finding.evidence["conversations"] == 2


def test_one_may_be_quoted():
    assert check(TWO) == ()


def test_each_question_has_a_system_message_of_its_own():
    finding = only(check(sample(*SYSTEM * 3), template=PLAIN), conversations=2)
    assert finding.place == Place("token", "90 of sample 0")


def test_a_system_message_now_and_then_belongs_to_the_conversation():
    talk = sample(*SYSTEM, *SYSTEM, *CHAT, *CHAT)
    assert check(talk, talk, template=PLAIN) == ()


def test_conversations_of_many_turns_are_one():
    assert check(sample("", *CHAT * 4), sample(*SYSTEM, *CHAT * 3)) == ()


def test_what_a_template_writes_between_turns_begins_nothing():
    talk = sample(*CHAT, "", *CHAT, "", *CHAT)
    assert check(talk) == ()
    assert check(TWO, TWO, template=PLAIN) == ()


@pytest.mark.parametrize("name", ["attention_mask", "document_ids"])
def test_what_may_keep_documents_apart_is_left_in_peace(name):
    assert check(TWO, TWO, apart=[name]) == ()
