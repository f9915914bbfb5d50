"""Rows as datasets for classic tasks have them."""

import numpy as np
import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.text_store import compared

ASKED = [("user", "a"), ("assistant", "b")]
BOTH = [("", "a"), ("", "b")]
OPTIONS = {"text": ["b", "c"], "label": ["A", "B"]}


def said(row):
    read = parts_of(row)
    assert read.faults == ()
    return read.kind, [(part.role, part.text) for part in read.parts]


@pytest.mark.parametrize(
    "row",
    [
        {"article": "a", "highlights": "b", "id": "1"},
        {"document": "a", "summary": "b"},
        {"id": "1", "dialogue": "a", "summary": "b", "topic": "t"},
        {"text": "a", "summary": "b", "title": "t"},
        {"article": "a", "abstract": "b", "section_names": "s"},
        {"source": "a", "target": "b"},
        {"src": "a", "tgt": "b"},
        {"input_text": "a", "target_text": "b"},
        {"sentence": "a", "translation": "b"},
        {"translation": {"en": "a", "de": "b"}},
        {"id": 7, "en": "a", "de": "b"},
        {"Question": "a", "Answer": "b"},
        {"Context": "a", "Response": "b"},
        {"question": "a", "answer": ["b", "c"]},
        {"query": "a", "answers": ["b"], "passages": {"passage_text": ["p"]}},
    ],
)
def test_what_is_written_of_a_text_is_its_answer(row):
    assert said(row) == ("prompt and answer", ASKED)


@pytest.mark.parametrize(
    ("row", "beside"),
    [
        ({"premise": "a", "hypothesis": "b", "label": 1, "idx": 3}, [1]),
        ({"sentence1": "a", "sentence2": "b", "gold_label": "neutral"}, ["neutral"]),
        ({"sentence1": "a", "sentence2": "b", "score": 0.4}, [0.4]),
        ({"text_a": "a", "text_b": "b"}, None),
        ({"question1": "a", "question2": "b", "is_duplicate": False}, [False]),
        ({"query": "a", "passage": "b", "label": 0}, [0]),
        ({"question": "a", "sentence": "b", "label": 0}, [0]),
        ({"document": "a", "summary": "b", "label": 0}, [0]),
        ({"anchor": "a", "positive": "b"}, None),
        ({"Body": "a", "Title": "b", "Category": "c"}, ["c"]),
    ],
)
def test_texts_that_are_judged_have_their_label_beside_them(row, beside):
    assert said(row) == ("text", BOTH)
    assert parts_of(row).beside == beside


@pytest.mark.parametrize(
    "row",
    [
        {"anchor": "a", "positive": "b", "negative": "c"},
        {"query": "a", "pos": ["b"], "neg": ["c"]},
        {"query": "a", "positive_passages": [{"text": "b"}], "negative_1": "c"},
    ],
)
def test_texts_to_be_embedded_are_read_one_by_one(row):
    assert said(row) == ("text", [("", "a"), ("", "b"), ("", "c")])


@pytest.mark.parametrize(
    "row",
    [
        {"question": "a", "choices": OPTIONS, "answerKey": "B"},
        {"question_stem": "a", "choices": OPTIONS, "answerKey": "B"},
        {"ctx": "a", "endings": ["b", "c"], "label": "B", "activity_label": "x"},
        {"goal": "a", "sol1": "b", "sol2": "c", "label": "B"},
        {"sentence": "a", "option1": "b", "option2": "c", "answer": "B"},
    ],
)
def test_choices_stand_behind_their_question(row):
    asked = [("user", text) for text in "abc"]
    assert said(row) == ("prompt and answer", [*asked, ("assistant", "B")])


def test_choices_may_be_about_a_text():
    row = {"premise": "a", "choice1": "c", "choice2": "d", "question": "b", "label": 1}
    asked = [("user", text) for text in "abcd"]
    assert said(row) == ("prompt and answer", [*asked, ("assistant", "1")])


def test_the_first_answer_to_a_question_about_a_text_counts():
    answers = {"text": ["b", "c"], "answer_start": [2, 4]}
    row = {"context": "a b c", "question": "?", "answers": answers}
    spoken = [("user", "a b c"), ("user", "?"), ("assistant", "b")]
    assert said(row) == ("prompt and answer", spoken)
    row["answers"] = {name: np.array(held) for name, held in answers.items()}
    assert said(row) == ("prompt and answer", spoken)


@pytest.mark.parametrize("none", [{"text": [], "answer_start": []}, [], [None][:0]])
def test_a_question_may_have_no_answer(none):
    row = {"context": "a", "question": "?", "answers": none}
    assert said(row) == ("prompt and answer", [("user", "a"), ("user", "?")])
    assert said({"query": "?", "answers": none}) == (
        "prompt and answer",
        [("user", "?")],
    )


@pytest.mark.parametrize(
    ("text", "start", "wrong"),
    [
        ("bridge", 9, False),
        ("bridge", 8, True),
        ("bridge", 99, True),
        ("Bridge", 9, False),
        ("", 3, False),
        ("bridge", -1, False),
        ("bridge", None, False),
    ],
)
def test_an_answer_stands_where_it_is_said_to_begin(text, start, wrong):
    answers = {"text": [text], "answer_start": [start]}
    row = {"context": "It was a bridge.", "question": "?", "answers": answers}
    found = [name for name, *_ in parts_of(row).faults]
    assert found == ["answer-not-in-place"] * wrong


def test_words_have_a_tag_each():
    row = {"tokens": ["a", "b"], "ner_tags": [0, 1], "pos_tags": ["X"], "label": 3}
    read = parts_of(row)
    assert (read.kind, read.parts[0].text) == ("text", "a b")
    assert read.faults == (("tags-disagree", "pos_tags", "1 for 2 words"),)
    assert said({"words": ["a"], "labels": [0]})[0] == "text"


@pytest.mark.parametrize(
    "row",
    [
        {"text": "a", "label": 1, "summary": "b"},
        {"text": "a", "title": "b"},
        {"content": "a", "premise": "b", "hypothesis": "c"},
    ],
)
def test_a_text_that_was_understood_before_is_read_as_it_was(row):
    read = parts_of(row)
    assert (read.kind, [part.text for part in read.parts]) == ("text", ["a"])


@pytest.mark.parametrize(
    "row",
    [
        {"pixels": 1},
        {"a": "text", "b": "text"},
        {"messages": None, "document": "a", "summary": "b"},
        {"question": "a", "mc1_targets": {"choices": ["b"]}},
        {"question": "a", "answers": {"a": ["b"]}, "query": "c"},
        {"is_ok": "a", "is_us": "b"},
        {"title": "a", "price": 3},
        {"question": "a", "pos": ["NOUN"]},
        {"tokens": [1, 2], "ner_tags": [0, 0]},
        {"source": 3, "target": "b"},
        {"translation": {"en": "a", "de": 3}},
        {"answers": {"text": [1]}, "question": "a"},
    ],
)
def test_other_rows_are_no_better_known(row):
    assert parts_of(row).faults[0][0] == "unknown-columns"


@pytest.mark.parametrize(
    "columns",
    [
        ("zh_CN", "zh_TW"),
        ("en", "pt-BR"),
        ("eng_Latn", "deu_Latn"),
        ("sentence_eng_Latn", "sentence_zho_Hans"),
        ("eng", "fra"),
        ("sr-Latn", "sr-Cyrl"),
        ("text_en", "text_de"),
        ("en_text", "de_text"),
        ("en-US", "es-419"),
        ("question", "query"),
        ("question", "schema", "query"),
        ("sql_prompt", "sql_context", "sql"),
        ("user", "assistant"),
        ("inputs", "targets"),
        ("q", "a"),
    ],
)
def test_columns_that_mean_it_together_are_a_pair(columns):
    read = parts_of({"id": 7, **{name: name.upper() for name in columns}})
    assert [part.column for part in read.parts] == list(columns)
    roles = ["user"] * (len(columns) - 1) + ["assistant"]
    assert [part.role for part in read.parts] == roles


@pytest.mark.parametrize("name", ["sequence", "smiles", "claim", "title", "question"])
def test_a_text_beside_a_label_is_known(name):
    read = parts_of({name: "a", "label": 1})
    assert (read.kind, [part.text for part in read.parts]) == ("text", ["a"])


def test_a_query_may_stand_in_a_dictionary():
    row = {"question": "a", "table": {"h": []}, "sql": {"human_readable": "b"}}
    assert [part.text for part in parts_of(row).parts] == ["a", "b"]


def test_what_is_asked_of_a_text_and_who_is_told_are_read():
    row = {"context": "c", "question": "a", "sql": "b"}
    assert [part.text for part in parts_of(row).parts] == ["c", "a", "b"]
    row = {"system": "s", "user": "a", "assistant": "b"}
    roles = [part.role for part in parts_of(row).parts]
    assert roles == ["system", "user", "assistant"]


def test_texts_of_one_list_are_read_one_by_one():
    read = parts_of({"set": ["a", "b"]})
    assert ([part.text for part in read.parts], read.apart) == (["a", "b"], ("b",))
    assert parts_of({"set": ["a"]}).kind == ""


def test_rows_with_another_question_about_a_text_are_not_alike():
    row = {"context": "a", "question": "b", "answers": []}
    assert compared(parts_of(row)) != compared(parts_of({**row, "question": "c"}))
    both = {"premise": "a", "hypothesis": "b"}
    other = {"premise": "a", "hypothesis": "c"}
    beside = [compared(parts_of(each)).rpartition("\x00")[2] for each in (both, other)]
    assert beside[0] != beside[1]


def test_an_empty_second_text_is_told():
    faults = parts_of({"premise": "a", "hypothesis": " ", "label": 0}).faults
    assert faults == (("empty-text", "hypothesis", "nothing to read"),)


@pytest.mark.parametrize(
    ("negative", "name"),
    [
        ("b", "negative"),
        (" b\n", "negative"),
        (["c", "b"], "negatives"),
        ("B", None),
        (["c", "d"], None),
    ],
)
def test_a_negative_that_is_the_positive_is_found(negative, name):
    column = "negative" if isinstance(negative, str) else "negatives"
    row = {"anchor": "a", "positive": "b", column: negative}
    found = [(kind, where) for kind, where, _ in parts_of(row).faults]
    assert found == ([("equal-pair", name)] if name else [])
