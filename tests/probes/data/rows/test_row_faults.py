"""Faults of rows beyond their texts: who is asked for what."""

import pytest

from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.rows.messages import mapping_of
from ftlab.probes.data.rows.row_faults import row_faults


def found(row):
    row = mapping_of(row)
    return [(name, where) for name, where, _ in row_faults(row, parts_of(row))]


def talk(*contents):
    roles = ("user", "assistant") * len(contents)
    return [{"role": r, "content": c} for r, c in zip(roles, contents, strict=False)]


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ({"prompt": "", "completion": "Yes."}, "prompt"),
        ({"instruction": " ", "input": "", "output": "Yes."}, "instruction"),
        ({"prompt": None, "completion": "Yes."}, "prompt"),
        ({"prompt": "", "chosen": "Yes.", "rejected": "No."}, "prompt"),
        ({"messages": talk("Where?", "There.", "", "So.")}, "messages[2].content"),
    ],
)
def test_a_question_that_says_nothing_is_found(row, where):
    assert found(row) == [("empty-prompt", where)]


@pytest.mark.parametrize(
    "row",
    [
        {"instruction": "Where?", "input": "", "output": "There."},
        {"prompt": "", "completion": "A bridge.", "image": "a.png"},
        {"chosen": talk("Where?", "There."), "rejected": talk("Where?", "No.")},
        {"messages": talk([{"type": "image", "image": "a.png"}], "A bridge.")},
        {"text": ""},
        {"other": ""},
        talk("Where?", "There."),
        "Text.",
    ],
)
def test_is_silent_on_healthy_rows(row):
    assert found(row) == []


def test_calls_and_pairs_and_tokens_are_looked_at():
    call = {"function": {"name": "look", "arguments": "{"}}
    said = [*talk("Where?"), {"role": "assistant", "tool_calls": [call]}]
    assert found(said) == [("arguments-broken", "messages[1].tool_calls")]
    pair = {"chosen": "a", "rejected": "b", "score_chosen": 1, "score_rejected": 2}
    assert found(pair) == [("pair-turned-round", "score_chosen")]
    assert found({"input_ids": [-1]}) == [("id-beyond-vocabulary", "input_ids[0]")]


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ({"text": "text", "label": "label"}, "text"),
        ({"prompt": "Prompt", "completion": " completion", "id": 7}, "prompt"),
        ({"question": "question", "context": None, "answer": "answer"}, "question"),
    ],
)
def test_a_header_of_a_table_is_found(row, where):
    assert found(row) == [("header-as-row", where)]


@pytest.mark.parametrize(
    "row",
    [
        {"text": "text", "label": "noun"},
        {"text": "text"},
        {"text": "label", "label": "label"},
        {"prompt": "prompt", "completion": "A prompt."},
        {"question": "What is an answer?", "answer": "answer"},
    ],
)
def test_a_word_that_is_the_name_of_a_column_is_none(row):
    assert found(row) == []
