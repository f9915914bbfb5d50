"""What a template is given is what ``apply_chat_template`` would give it."""

import pytest

from ftlab.probes.templates.inputs import (
    NotPlainError,
    as_given,
    plain,
    template_of,
    variables_of,
)
from ftlab.records.rendering import Refusal
from tests.probes.templates.styles import Special, user
from tests.probes.templates.vocabularies import byte_level


class Text(str):
    """A text of somebody's own class."""

    __slots__ = ()


def test_own_classes_become_plain_ones():
    made = plain({"a": Text("b"), "c": (1, True, None)}, "x")
    assert made == {"a": "b", "c": [1, True, None]}
    assert type(made["a"]) is str
    assert made["c"][1] is True


def test_a_key_that_is_no_text_is_refused():
    with pytest.raises(NotPlainError, match=r"messages\[0\] has the key 1"):
        plain([{1: "a"}], "messages")


def test_one_of_several_templates_is_chosen_as_transformers_does():
    tokenizer = byte_level()
    tokenizer.chat_template = {"default": "d", "tool_use": "t", "rag": "r"}
    assert template_of(tokenizer) == "d"
    assert template_of(tokenizer, tools=[{}]) == "t"
    assert template_of(tokenizer, "rag") == "r"
    tokenizer.chat_template = {"rag": "r"}
    assert isinstance(template_of(tokenizer), Refusal)


def test_a_text_is_a_template_and_nothing_is_none():
    assert template_of(None, "x") == "x"
    assert template_of(None).kind == "no template"
    assert template_of(Special(3)).kind == "no template"
    assert "chat_template is not set" in template_of(byte_level()).words


def test_tokenizers_that_write_by_code_of_their_own_are_named():
    class Coded:
        def get_chat_template(self, template, tools):
            raise NotImplementedError

    assert "a Coded writes conversations by code" in template_of(Coded()).words
    assert template_of(Coded(), "{{ 1 }}") == "{{ 1 }}"


def test_special_tokens_are_given_and_may_be_replaced():
    given = variables_of(byte_level(), {"eos_token": "!", "thinking": False})
    assert (given["bos_token"], given["eos_token"], given["thinking"]) == (
        "<s>",
        "!",
        False,
    )


def test_messages_without_none_are_given_as_they_are():
    talk = [user("x")]
    assert as_given(byte_level(), talk) == talk
