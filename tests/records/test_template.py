"""What is known of a template is kept as JSON and said in sentences."""

import json

from ftlab.records.rendering import Refusal
from ftlab.records.template import TemplateFacts
from ftlab.records.template_comparison import Difference, ServedTurn
from ftlab.records.template_words import short


def test_facts_go_through_json_unchanged():
    facts = TemplateFacts(
        digest="0",
        openings={"user": "<u>"},
        last_end_ids={"assistant": (2,)},
        prompt_difference=Difference(3, "a", "b"),
        drops=("tools",),
        marks_cover_end=False,
    )
    assert TemplateFacts.from_json(json.loads(json.dumps(facts.as_json()))) == facts
    refused = TemplateFacts(refused=Refusal("time", "ran"))
    assert TemplateFacts.from_json(json.loads(json.dumps(refused.as_json()))) == refused


def test_facts_of_a_later_version_are_read_for_what_is_known():
    assert TemplateFacts.from_json({"digest": "1", "new": 3}) == TemplateFacts("1")


def test_every_fact_worth_knowing_has_a_sentence():
    facts = TemplateFacts(
        last_ends={"assistant": "<e>\n"},
        ends={"assistant": "<f>"},
        unasked_prompt=True,
        generation_prompt="<a>",
        system_text="You are.",
        date="2024",
        drops=("system", "tools"),
        reprs=("list content",),
        trims=("user",),
        alternation=True,
        system_first=True,
        prompt_difference=Difference(0, "<t>", ""),
        history_difference=Difference(0, "x", "y"),
        marks_cover_end=False,
        pieces={"<e>": 3, "<f>": 1},
        swallowed={"<f>": "\n"},
        repeats_bos=True,
    )
    text = "\n".join(facts.words)
    for said in (
        r"'\n' stands behind",
        "'<f>' where turns follow",
        "behind finished answers",
        "'You are.'",
        "'2024'",
        "system messages are left out",
        "the tools on offer are left out",
        "notation of Python",
        "stripped from the texts of user",
        "take turns",
        "has to be the first",
        "served '<t>', trained ''",
        "first 'x', then 'y'",
        "stops before the token",
        "'<e>' (3 pieces)",
        "takes '\\n' away beside '<f>'",
        "BOS",
    ):
        assert said in text
    assert "'<f>' (1" not in text
    assert len(facts.words) == 17


def test_a_template_without_faults_has_nothing_said_of_it():
    ends = {"assistant": "<e>"}
    assert TemplateFacts(ends=ends, last_ends=ends).words == ()


def test_long_texts_are_shortened_and_quoted():
    assert short("a\nb") == r"'a\nb'"
    assert len(short("a" * 100)) == 50


def test_served_turns_speak():
    assert str(ServedTurn(1, True, 4)) == "message 1: served as it was trained"
    assert "from 4 on, served 'a', trained ''" in str(ServedTurn(1, False, 4, "a"))
    assert "holds the end" in str(ServedTurn(1, False, 4, merged=True))
