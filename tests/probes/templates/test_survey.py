"""What a template does to messages is found out by rendering, and said in words."""

import json
from types import SimpleNamespace

import pytest

from ftlab.probes.templates.survey import survey
from ftlab.records.template import TemplateFacts
from tests.probes.templates import styles
from tests.probes.templates.styles import ALL, Special
from tests.probes.templates.vocabularies import byte_level, unigram, word_piece


def facts_of(template) -> TemplateFacts:
    return survey(Special(template))


@pytest.mark.parametrize("name", ALL)
def test_every_style_is_read_and_can_be_kept_as_json(name):
    facts = facts_of(ALL[name])
    assert facts.refused is None
    assert facts.openings.keys() >= {"user", "assistant"}
    assert TemplateFacts.from_json(json.loads(json.dumps(facts.as_json()))) == facts
    assert all(isinstance(line, str) and line for line in facts.words)


OPENINGS = {
    "marked": ("<|open|>user\n", "<|open|>assistant\n", "<|close|>\n"),
    "heads": ("<|head|>user<|tail|>\n\n", "<|head|>assistant<|tail|>\n\n", "<|eot|>"),
    "brackets": ("[ASK] ", " ", "</s>"),
    "turns": ("<turn>user\n", "<turn>model\n", "<end>\n"),
    "unended": ("<|user|>\n", "<|assistant|>\n", ""),
    "closed_by_the_next": ("<|user|>", "<|assistant|>", ""),
    "channels": (
        "<|start|>user<|message|>",
        "<|start|>assistant<|channel|>final<|message|>",
        "<|return|>",
    ),
    "lists": ("User: ", "Assistant: ", "<done>\n"),
    "odd": ("]~b]user\n", "]~b]ai\n", "[e~[\n"),
    "unasked": ("<|s|><|user|>", "<|s|><|assistant|>", "<|e|>"),
}


@pytest.mark.parametrize("name", OPENINGS)
def test_openings_and_the_terminator_are_found_without_a_list(name):
    facts = facts_of(ALL[name])
    found = facts.openings["user"], facts.openings["assistant"], facts.terminator
    assert found == OPENINGS[name]


def test_what_stands_before_the_first_turn_is_told_from_its_opening():
    assert facts_of(styles.HEADS).beginning == "<s>"
    assert facts_of(styles.UNENDED).beginning == "[mask]"
    assert facts_of(styles.MARKED).beginning == ""
    own = facts_of(styles.DEFAULT_SYSTEM)
    assert own.beginning == "<|open|>system\nYou are Orla.<|close|>\n"
    assert own.system_text == "You are Orla."
    assert facts_of(styles.HEADS).system_text == ""


def test_ends_within_and_behind_a_conversation_may_differ():
    channels = facts_of(styles.CHANNELS)
    assert (channels.ends["assistant"], channels.terminator) == (
        "<|end|>",
        "<|return|>",
    )
    assert any("<|return|>" in line for line in channels.words)
    later = facts_of(styles.CLOSED_BY_THE_NEXT)
    assert (later.ends["assistant"], later.terminator) == ("<|done|>", "")


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
    assert not facts.prompt_difference.right.startswith("<think>")
    assert facts_of(styles.MARKED).prompt_difference is None
    assert facts_of(styles.BRACKETS).prompt_difference is None


def test_answers_that_are_rewritten_once_turns_follow():
    facts = facts_of(styles.THINKING)
    assert facts.history_difference.left.startswith("<think>")
    assert not facts.history_difference.right.startswith("<think>")
    assert facts_of(styles.CHANNELS).history_difference is None
    assert facts_of(styles.MARKED).history_difference is None


def test_the_date_is_found_by_another_clock():
    assert facts_of(styles.CHANNELS).date == "2024-02-03"
    assert facts_of(styles.MARKED).date == ""


def test_what_is_dropped_and_printed_as_python_is_named():
    plain = facts_of(styles.MARKED)
    assert plain.drops == ("reasoning", "tool calls", "tools")
    assert plain.reprs == ("list content",)
    assert facts_of(styles.THINKING).drops == (
        "reasoning in history",
        "tool calls",
        "tools",
    )
    assert facts_of(styles.CALLING).drops == ("reasoning",)
    silent = styles.MARKED.replace(
        "{% for m in messages %}", "{% for m in messages if m.role != 'system' %}", 1
    )
    assert "system" in facts_of(silent).drops
    once = styles.MARKED.replace(
        "{{ m.content }}",
        "{% if m.role != 'system' or messages[-1].role == 'user' %}{{ m.content }}"
        "{% endif %}",
    )
    assert "system once answered" in facts_of(once).drops


def test_what_ends_a_reasoning_is_found_without_a_list():
    for template in (styles.THINKING, styles.MARKED):
        assert facts_of(template).reasoning_end.strip() == "</think>"
    own = styles.MARKED.replace(
        "{{ m.content }}",
        "{% if m.reasoning_content %}[[{{ m.reasoning_content }}]] {% endif %}"
        "{{ m.content }}",
    )
    assert facts_of(own).reasoning_end == "]] "
    assert facts_of(own).drops == ("tool calls", "tools")


def test_calls_printed_as_python_are_named():
    written = styles.CALLING.replace("call.function | tojson", "call.function")
    assert "tool calls" in facts_of(written).reprs
    assert "tool calls" not in facts_of(styles.CALLING).reprs


def test_roles_that_are_stripped_are_named():
    assert facts_of(styles.HEADS).trims == ("system", "user", "assistant")
    assert facts_of(styles.MARKED).trims == ()


def test_refusals_keep_their_words():
    alternating = facts_of(styles.BRACKETS)
    assert alternating.alternation
    assert "alternate" in alternating.refusals["two user turns"]
    assert not facts_of(styles.MARKED).alternation
    assert facts_of(styles.NO_SYSTEM).refusals["system"] == (
        'raised "no system messages here"'
    )


def test_a_system_message_that_has_to_be_the_first():
    late = styles.MARKED.replace(
        "{% for m in messages %}",
        "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
        "{{ raise_exception('late') }}{% endif %}",
    )
    assert facts_of(late).system_first
    assert not facts_of(styles.MARKED).system_first
    assert not facts_of(styles.NO_SYSTEM).system_first


def test_what_a_template_needs_is_given_and_named():
    assert facts_of(styles.LISTS).form == ("list content",)
    assert facts_of(styles.NEEDS_TOOLS).form == ("tools",)
    needs_system = "{{ messages[0].content.upper() if messages[0].role == 'system' "
    needs_system += "else raise_exception('no system') }}" + styles.MARKED
    assert facts_of(needs_system).form == ("system",)


def test_templates_that_render_nothing_are_refused_in_words():
    assert facts_of("{{ raise_exception('never') }}").refused.words == 'raised "never"'
    assert "writes nothing" in facts_of("constant").refused.words
    assert facts_of("{% if %}").refused.kind == "syntax"
    assert survey(byte_level()).refused.kind == "no template"
    assert facts_of("{% if %}").words == (str(facts_of("{% if %}").refused),)


def test_a_template_that_never_ends_is_tried_once(monkeypatch):
    from ftlab.probes.templates import shape
    from ftlab.probes.templates.process import Limits
    from ftlab.probes.templates.worker import Renderer

    calls = []
    one = Renderer(Limits(seconds=0.3))

    class Counting:
        def render_all(self, *given):
            calls.append(given)
            return one.render_all(*given)

    monkeypatch.setattr(shape, "renderer", Counting)
    endless = "{% for a in range(99999) %}" * 3 + "{% endfor %}" * 3
    found = survey(Special(endless)).refused
    one.close()
    assert found.kind == "time"
    assert len(calls) == 1


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
