"""Control strings within texts, and those that belong there."""

from types import SimpleNamespace

import pytest
from tokenizers import AddedToken

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.glance import Glances
from ftlab.probes.data.texts.token_marks import TokenMarks
from ftlab.records.template import TemplateFacts

MISTRAL = SimpleNamespace(
    all_special_tokens=["<s>", "</s>", "[INST]", "[/INST]", "<image>", "<|video_pad|>"]
)


def user(text):
    return {"messages": [{"role": "user", "content": text}]}


def faults_in(marks, row):
    read = parts_of(row)
    return marks.faults(read, Glances(marks.words).at(read))


def faults(row, tokenizer=MISTRAL, facts=None):
    found = faults_in(TokenMarks(tokenizer, facts), row)
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
    marks = TokenMarks(MISTRAL)
    for row in ({"text": "a</s> "}, {"prompt": "a</s>", "completion": "b</s>"}, "a"):
        list(faults_in(marks, row))
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
