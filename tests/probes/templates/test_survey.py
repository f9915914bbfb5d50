"""What a template does to messages is found out by rendering, and said in words."""

import json
from types import SimpleNamespace

import pytest

from ftlab.probes.templates.survey import survey
from ftlab.records.template import TemplateFacts
from tests.probes.templates import styles
from tests.probes.templates.reading import facts_of
from tests.probes.templates.styles import ALL
from tests.probes.templates.vocabularies import byte_level, unigram, word_piece


@pytest.mark.parametrize("name", ALL)
def test_every_style_is_read_and_can_be_kept_as_json(name):
    facts = facts_of(ALL[name])
    assert facts.refused is None
    assert facts.openings.keys() >= {"user", "assistant"}
    assert TemplateFacts.from_json(json.loads(json.dumps(facts.as_json()))) == facts
    assert all(isinstance(line, str) and line for line in facts.words)


def test_an_answer_that_nothing_ends_is_said_first():
    assert facts_of(styles.UNENDED).words[0].startswith("nothing ends the last answer:")
    assert "<|done|>" in facts_of(styles.CLOSED_BY_THE_NEXT).words[0]
    assert not any("nothing" in line for line in facts_of(styles.MARKED).words)
    assert any(
        line.startswith(r"'\n' stands") for line in facts_of(styles.MARKED).words
    )


def test_a_prompt_that_is_no_beginning_of_the_training_text():
    facts = facts_of(styles.MARKED.replace("assistant\n{%", "assistant\n<think>{%"))
    assert facts.generation_prompt == "<|open|>assistant\n<think>"
    assert facts.prompt_difference.left == "<think>"
    assert facts.prompt_difference.right.startswith("{answer}")
    assert facts_of(styles.MARKED).prompt_difference is None
    assert facts_of(styles.BRACKETS).prompt_difference is None


def test_answers_that_are_rewritten_once_turns_follow():
    facts = facts_of(styles.THINKING)
    assert facts.history_difference.left.startswith("<think>")
    assert not facts.history_difference.right.startswith("<think>")
    assert facts_of(styles.CHANNELS).history_difference is None
    assert facts_of(styles.MARKED).history_difference is None


def test_refusals_keep_their_words():
    alternating = facts_of(styles.BRACKETS)
    assert alternating.alternation
    assert "alternate" in alternating.refusals["two user turns"]
    assert not facts_of(styles.MARKED).alternation
    assert facts_of(styles.NO_SYSTEM).refusals["system"] == (
        'raised "no system messages here"'
    )


def test_templates_that_render_nothing_are_refused_in_words():
    assert facts_of("{{ raise_exception('never') }}").refused.words == 'raised "never"'
    assert "writes nothing" in facts_of("constant").refused.words
    assert facts_of("{% if %}").refused.kind == "syntax"
    assert survey(byte_level()).refused.kind == "no template"
    assert facts_of("{% if %}").words == (str(facts_of("{% if %}").refused),)


def test_generation_marks_and_whether_they_hold_the_end():
    assert facts_of(styles.GENERATION).generation_marks
    assert facts_of(styles.GENERATION).marks_cover_end is True
    without = facts_of(styles.GENERATION_WITHOUT_END)
    assert without.marks_cover_end is False
    assert any("marks as generated" in line for line in without.words)
    assert facts_of(styles.MARKED).marks_cover_end is None


@pytest.mark.parametrize("train", [byte_level, unigram, word_piece])
def test_ids_are_cut_from_whole_renderings(train):
    tokenizer = train()
    facts = survey(tokenizer, template=styles.MARKED)
    close = tokenizer.convert_tokens_to_ids("<|close|>")
    opening = tokenizer.convert_tokens_to_ids("<|open|>")
    assert facts.terminator_ids[0] == close
    assert facts.end_ids["user"][0] == close
    assert facts.opening_ids["user"][0] == opening
    assert facts.opening_ids["user"] != facts.opening_ids["assistant"]
    assert facts.stops["template"] == (close,)
    assert facts.stops["tokenizer"] == (tokenizer.eos_token_id,)
    assert facts.pieces == {"<|open|>": 1, "<|close|>": 1}


@pytest.mark.parametrize("train", [byte_level, unigram, word_piece])
def test_control_strings_that_are_no_tokens_are_counted(train):
    tokenizer = train(controls=False)
    facts = survey(tokenizer, template=styles.MARKED)
    assert facts.pieces["<|close|>"] > 1
    assert "template" not in facts.stops
    assert any("no tokens of this vocabulary" in line for line in facts.words)


def test_stops_of_a_model_stand_beside_those_of_the_template():
    model = SimpleNamespace(
        config=SimpleNamespace(eos_token_id=7),
        generation_config=SimpleNamespace(eos_token_id=[7, 8]),
    )
    stops = survey(byte_level(), model, template=styles.MARKED).stops
    assert (stops["config"], stops["generation_config"]) == ((7,), (7, 8))


def test_a_bos_that_is_written_twice_is_seen():
    tokenizer = byte_level(bos=True)
    assert survey(tokenizer, template=styles.HEADS).repeats_bos
    assert not survey(tokenizer, template=styles.MARKED).repeats_bos
    assert not survey(byte_level(), template=styles.HEADS).repeats_bos


OWN = "<|open|>system\nYou are Orla.<|close|>\n"
PLAIN = (
    "{% for m in messages %}{{ m.role.title() + ': ' + m.content + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}Assistant: {% endif %}"
)
OTHER_ROLES = (
    "{% for m in messages %}{{ {'system': '<|sys|>', 'user': '<|ask|>', "
    "'assistant': '<|say|>'}[m.role] + m.content + '<|e|>' }}{% endfor %}"
    "{% if add_generation_prompt %}<|say|>{% endif %}"
)
BEHIND = (
    "{% if messages[0].role == 'system' %}<|open|>system\n{{ messages[0].content }}"
    "<|close|>\n{% set messages = messages[1:] %}{% endif %}" + OWN + styles.MARKED
)


@pytest.mark.parametrize(
    "template",
    [
        OWN + styles.MARKED,
        "{{ bos_token }}" + OWN + styles.MARKED,
        "System: be kind\n" + PLAIN,
        "<|sys|>Be kind.<|e|>" + OTHER_ROLES,
        BEHIND,
    ],
)
def test_a_system_turn_of_its_own_may_stand_beside_a_message(template):
    facts = facts_of(template)
    assert facts.system_text
    assert facts.system_kept
    assert any("beside a system message too" in line for line in facts.words)


PREAMBLE = (
    "<|open|>system\nToday is Monday.\n{% if messages[0].role == 'system' %}"
    "{{ messages[0].content }}{% set messages = messages[1:] %}{% endif %}<|close|>\n"
)
DEVELOPER = styles.MARKED.replace(
    "m.role", "('developer' if m.role == 'system' else m.role)"
)


@pytest.mark.parametrize(
    "template",
    [
        styles.DEFAULT_SYSTEM,
        PREAMBLE + styles.MARKED,
        "A chat between a person and a machine.\n" + PLAIN,
        OWN + DEVELOPER,
        styles.MARKED,
        styles.NO_SYSTEM,
    ],
)
def test_a_text_of_its_own_is_no_second_system_turn(template):
    assert not facts_of(template).system_kept
