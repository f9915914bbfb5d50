"""Control strings within texts, and those that belong there."""

from types import SimpleNamespace

import pytest
from tokenizers import AddedToken

from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.texts.special_tokens import SpecialTokens
from ftlab.records.template import TemplateFacts

MISTRAL = SimpleNamespace(
    all_special_tokens=["<s>", "</s>", "[INST]", "[/INST]", "<image>", "<|video_pad|>"]
)


def user(text):
    return {"messages": [{"role": "user", "content": text}]}


def faults(row, tokenizer=MISTRAL, facts=None):
    found = SpecialTokens(tokenizer, facts).faults(parts_of(row))
    return [(part.where, *fault) for part, fault in found]


def test_special_tokens_within_messages_are_found():
    assert faults(user("Say [INST] now")) == [
        ("messages[0].content", "special-token-in-content", 4, "'[INST]'")
    ]
    assert faults(user("<b>bold</b> </s>"))[0][2:] == (12, "'</s>'")


def test_a_text_that_was_rendered_before_is_told_once():
    facts = TemplateFacts(openings={"user": "<|user|>\n"}, ends={})
    (found,) = faults(user("Say [INST] or <|user|>"), facts=facts)
    assert found[1] == "special-token-in-content"
    assert faults(user("Say <|user|>"), facts=facts)[0][1] == "role-mark-in-content"


@pytest.mark.parametrize(
    "text", ["<image>\nWhat is it?", "<|video_pad|> x", "a < b > c [1] [x]", "<S>"]
)
def test_pictures_and_brackets_belong_there(text):
    assert faults(user(text)) == []


def test_added_special_tokens_count_and_others_do_not():
    added = {5: AddedToken("<|call|>", special=True), 6: AddedToken("<think>")}
    tokenizer = SimpleNamespace(all_special_tokens=[], added_tokens_decoder=added)
    assert faults(user("<think> a"), tokenizer) == []
    assert faults(user("a <|call|>"), tokenizer)[0][2] == 2


def test_a_text_that_was_rendered_is_left_alone_but_for_its_end():
    assert faults({"text": "<s>[INST] a [/INST] b</s>\n"}) == []
    ((column, name, char, says),) = faults({"text": "<s>[INST] a [/INST] b"})
    assert (column, name, char) == ("text", "missing-end-mark", 20)
    assert says == "ends with 's>[INST] a [/INST] b'"


def test_texts_that_end_with_a_mark_are_counted():
    marks = SpecialTokens(MISTRAL)
    for row in ({"text": "a</s> "}, {"prompt": "a</s>", "completion": "b</s>"}, "a"):
        list(marks.faults(parts_of(row)))
    assert marks.ended == 2


def test_an_end_mark_of_a_completion_belongs_there():
    assert faults({"prompt": "a", "completion": "b</s>"}) == []
    names = [each[1] for each in faults({"prompt": "a</s>b", "completion": "c</s>"})]
    assert names == ["special-token-in-text"]
    row = {"prompt": "a", "completion": "b\n### Response: c</s>"}
    assert [each[1] for each in faults(row)] == ["role-mark-in-content"]


def test_marks_that_tell_speakers_apart_are_found():
    facts = TemplateFacts(
        openings={"user": "### User:\n", "assistant": "### Assistant:\n"},
        ends={"user": "\n\n", "assistant": "</turn>\n"},
    )
    assert faults(user("as ### User: wrote"), None, facts)[0][1:3] == (
        "role-mark-in-content",
        3,
    )
    assert faults(user("a plain user text"), None, facts) == []
    row = {"instruction": "Fix:\n### Response:\nbar", "output": "done"}
    assert faults(row, None)[0][:3] == ("instruction", "role-mark-in-content", 5)


def test_without_a_tokenizer_nothing_is_special():
    assert faults(user("<s> </s>"), None) == []


CHATML = SimpleNamespace(get_vocab=lambda: {"<|im_start|>": 1, "<|im_end|>": 2})


def names_in(row, tokenizer=CHATML, facts=None):
    found = SpecialTokens(tokenizer, facts).faults(parts_of(row))
    return [fault.name for _, fault in found]


@pytest.mark.parametrize(
    ("text", "char"),
    [
        ("[INST] Why? [/INST]", 0),
        (" <<SYS>>\nBe kind.", 1),
        ("Why? [/INST]", 5),
        ("So. </s>\n", 4),
        ("<|start_header_id|>user", 0),
        ("So.<end_of_turn>", 3),
    ],
)
def test_a_mark_of_another_template_is_found_at_either_end(text, char):
    ((part, fault),) = SpecialTokens(CHATML).faults(parts_of(user(text)))
    assert (part.where, fault.name, fault.char) == (
        "messages[0].content",
        "foreign-mark-in-content",
        char,
    )


@pytest.mark.parametrize(
    "text",
    [
        "Llama 2 writes [INST] before and [/INST] behind a question.",
        "<s>old</s> is now <s>older</s>",
        "<|im_start|>user",
        "array[i]",
    ],
)
def test_is_silent_on_own_marks_and_on_texts_about_others(text):
    assert names_in(user(text)) == []


def test_marks_of_the_template_are_not_foreign():
    facts = TemplateFacts(openings={"user": "[INST] "}, ends={"user": " [/INST]"})
    assert names_in(user("[INST] Why? [/INST]"), facts=facts) == [
        "role-mark-in-content"
    ]
    assert names_in(user("[INST] Why? [/INST]"), tokenizer=None) == []


def test_pairs_and_texts_write_their_own_openings():
    pair = {"prompt": "[INST] Why?", "completion": "So."}
    assert names_in(pair) == []
    assert names_in(pair | {"completion": "So.</s>"}) == ["foreign-mark-in-content"]
    assert names_in({"text": "[INST] Why? [/INST] So.</s>"}) == []
