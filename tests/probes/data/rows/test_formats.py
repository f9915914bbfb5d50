"""Rows of all usual forms, and of none."""

import numpy as np
import pytest
import torch

from ftlab.probes.data.rows.formats import parts_of

USER, ANSWER = ("user", "a"), ("assistant", "b")


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (
            {
                "messages": [
                    {"role": "user", "content": "a"},
                    {"role": "assistant", "content": "b"},
                ]
            },
            "messages",
        ),
        (
            {
                "conversations": [
                    {"from": "human", "value": "a"},
                    {"from": "gpt", "value": "b"},
                ]
            },
            "messages",
        ),
        (
            {"messages": {"role": ["user", "assistant"], "content": ["a", "b"]}},
            "messages",
        ),
        (
            [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
            "messages",
        ),
        ({"prompt": "a", "completion": "b"}, "prompt and answer"),
        ({"question": "a", "answer": "b", "id": 3}, "prompt and answer"),
        ({"instruction": "a", "output": "b"}, "prompt and answer"),
        (
            {
                "prompt": [{"role": "user", "content": "a"}],
                "completion": [{"role": "assistant", "content": "b"}],
            },
            "prompt and answer",
        ),
    ],
)
def test_reads_who_says_what(row, kind):
    read = parts_of(row)
    assert read.kind == kind
    assert [(part.role, part.text) for part in read.parts] == [USER, ANSWER]
    assert read.faults == ()


def test_a_place_has_the_key_that_the_row_has():
    said = [{"from": "human", "value": "a"}, {"role": "assistant", "content": "b"}]
    places = [part.where for part in parts_of({"conversations": said}).parts]
    assert places == ["conversations[0].value", "conversations[1].content"]
    broken = parts_of({"conversations": [{"from": "human", "value": 3}]}).faults
    assert broken[0][1:] == ("conversations[0].value", "value is of type int")


def test_an_instruction_has_its_input_beside_it():
    read = parts_of({"instruction": "a", "input": "x", "output": "b"})
    assert [part.column for part in read.parts] == ["instruction", "input", "output"]


def test_a_context_belongs_to_the_prompt():
    row = {"instruction": "a", "context": "x", "response": "b", "category": "c"}
    assert [part.text for part in parts_of(row).parts] == ["a", "x", "b"]


def test_records_of_another_form_are_no_answers():
    assert parts_of({"question": "a", "answer": {"a": ["b"]}}).kind == ""


def test_texts_beside_a_label_are_classified():
    read = parts_of({"premise": "a", "hypothesis": "b", "label": 1, "idx": 7})
    assert (read.kind, [part.text for part in read.parts]) == ("text", ["a", "b"])
    assert read.beside == [1]
    assert parts_of({"idx": 7, "label": 1}).kind == ""


def test_what_pandas_takes_for_missing_is_nothing():
    assert parts_of({"prompt": "a", "completion": float("nan")}).parts[1].text == ""
    assert parts_of({"prompt": "1+1?", "completion": 2}).parts[1].text == "2"


def test_a_preference_has_both_sides():
    read = parts_of({"prompt": "a", "chosen": "b", "rejected": "c"})
    assert read.kind == "preference"
    assert [part.column for part in read.parts] == ["prompt", "chosen", "rejected"]
    same = parts_of({"prompt": "a", "chosen": "b", "rejected": "b"})
    assert same.faults == (("equal-pair", "rejected", "the same as chosen"),)


def test_texts_prompts_and_tokens_are_rows_too():
    assert parts_of("words").kind == parts_of({"text": "words"}).kind == "text"
    assert parts_of({"prompt": "a"}).kind == "prompt"
    assert parts_of({"input_ids": [1, 2]}).kind == "tokens"


def test_parts_of_a_message_are_joined_and_pictures_told():
    content = [{"type": "image"}, {"type": "text", "text": "What is it?"}]
    (part,) = parts_of({"messages": [{"role": "user", "content": content}]}).parts
    assert (part.text, part.says_more) == ("What is it?", True)
    assert part.where == "messages[0].content"


@pytest.mark.parametrize(
    ("messages", "column", "says"),
    [
        ('[{"role": "user"}]', "messages", "is a text, not a list of messages"),
        (
            [{"content": "a"}],
            "messages[0]",
            "a message without a role; it holds content",
        ),
        ([None], "messages[0]", "a message is missing"),
        (["a"], "messages[0]", "a message is a text"),
        (
            [{"role": "user", "content": {"a": 1}}],
            "messages[0].content",
            "content is of type dict",
        ),
        (
            [{"role": "user", "content": [3]}],
            "messages[0].content",
            "content is of type list",
        ),
        (7, "messages", "is of type int, not a list of messages"),
        ([], "messages", "holds no message"),
    ],
)
def test_malformed_messages_are_named(messages, column, says):
    read = parts_of({"messages": messages})
    assert read.faults == (("malformed-messages", column, says),)


def test_unknown_columns_are_listed():
    assert parts_of({"a": 1, "b": 2}).faults == (
        ("unknown-columns", "", "the row holds a, b"),
    )
    assert parts_of({"text": None}).faults == (
        ("unknown-columns", "text", "text is missing"),
    )
    assert parts_of({}).kind == ""


def test_what_stands_beside_the_texts_is_kept():
    assert parts_of({"text": "a", "label": 1}).beside == [1]
    assert parts_of({"prompt": "a", "completion": "b", "image": b"x"}).beside == [b"x"]


def test_arrays_are_read_as_the_lists_that_they_hold():
    talk = np.array(
        [
            {"role": "user", "content": np.array([{"type": "text", "text": "a"}])},
            {"role": "assistant", "content": "b"},
        ]
    )
    whole = [USER, ANSWER]
    pair = {"prompt": talk[:1], "completion": talk[1:]}
    columns = {"role": np.array(["user", "assistant"]), "content": np.array(["a", "b"])}
    for row in ({"messages": talk}, talk, pair, {"messages": columns}):
        read = parts_of(row)
        assert [(part.role, part.text) for part in read.parts] == whole
        assert read.faults == ()
    call = {"role": "assistant", "content": "", "tool_calls": np.array([1, 2])}
    assert parts_of({"messages": [call]}).parts[0].says_more


def test_numbers_of_numpy_are_numbers():
    read = parts_of({"question": np.int64(3), "answer": np.float32(0.5)})
    assert [part.text for part in read.parts] == ["3", "0.5"]


@pytest.mark.parametrize(
    "ids", [[1, 2], (1, 2), np.arange(1, 3), torch.arange(1, 3), [np.int32(1), 2]]
)
def test_ids_of_all_kinds_are_read(ids):
    read = parts_of({"input_ids": ids})
    assert (read.kind, list(read.beside)) == ("tokens", [1, 2])


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (None, "input_ids is missing"),
        (5, "input_ids is of type int, not a list of ids"),
        ("abc", "input_ids is a text, not a list of ids"),
        (np.array(5), "input_ids is of type int, not a list of ids"),
        (torch.zeros(2, 2, dtype=int), "input_ids holds what is no id"),
        ([1, "a", None], "input_ids holds what is no id"),
        ([1.5], "input_ids holds what is no id"),
        ({}, "input_ids is of type dict, not a list of ids"),
    ],
)
def test_what_are_no_ids_is_named(ids, said):
    read = parts_of({"input_ids": ids})
    assert (read.kind, read.faults) == ("", (("unknown-columns", "input_ids", said),))
    assert parts_of({"input_ids": None, "text": "a"}).kind == "text"


def test_an_array_of_texts_as_a_prompt_is_named():
    read = parts_of({"prompt": np.array(["a", "b"]), "completion": "x"})
    assert {fault[0] for fault in read.faults} == {"malformed-messages"}
