"""How a template opens and ends turns, learnt from short conversations."""

import pytest

from ftlab.probes.templates.survey import survey
from tests.probes.templates import styles
from tests.probes.templates.reading import facts_of
from tests.probes.templates.styles import ALL, Special

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


def test_what_a_template_needs_is_given_and_named():
    assert facts_of(styles.LISTS).form == ("list content",)
    assert facts_of(styles.NEEDS_TOOLS).form == ("tools",)
    needs_system = "{{ messages[0].content.upper() if messages[0].role == 'system' "
    needs_system += "else raise_exception('no system') }}" + styles.MARKED
    assert facts_of(needs_system).form == ("system",)


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
