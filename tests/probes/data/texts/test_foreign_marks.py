"""Marks of other templates and of citations, and texts about them."""

from types import SimpleNamespace

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.foreign_marks import ForeignMarks
from ftlab.records.template import TemplateFacts

CHATML = SimpleNamespace(get_vocab=lambda: {"<|im_start|>": 1, "<|im_end|>": 2})


def names_in(row, tokenizer=CHATML, facts=None):
    return [f.name for _, f in ForeignMarks(tokenizer, facts).faults(parts_of(row))]


def asked(text):
    return {"messages": [{"role": "user", "content": text}]}


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
    ((part, fault),) = ForeignMarks(CHATML).faults(parts_of(asked(text)))
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
    assert names_in(asked(text)) == []


def test_marks_of_the_template_are_not_foreign():
    facts = TemplateFacts(openings={"user": "[INST] "}, ends={"user": " [/INST]"})
    assert names_in(asked("[INST] Why? [/INST]"), facts=facts) == []
    assert names_in(asked("[INST] Why? [/INST]"), tokenizer=None) == []


def test_pairs_and_texts_write_their_own_openings():
    pair = {"prompt": "[INST] Why?", "completion": "So."}
    assert names_in(pair) == []
    assert names_in(pair | {"completion": "So.</s>"}) == ["foreign-mark-in-content"]
    assert names_in({"text": "[INST] Why? [/INST] So.</s>"}) == []


@pytest.mark.parametrize(
    "mark",
    ["\u30104\u2020source\u3011", "\u301012:3\u2020a.pdf\u3011", "[oai_citation:1"],
)
def test_a_mark_of_a_source_is_found_without_a_tokenizer(mark):
    row = {"prompt": "Why?", "completion": f"So it is{mark}."}
    ((_, fault),) = ForeignMarks(None).faults(parts_of(row))
    assert (fault.name, fault.char) == ("citation-mark", 8)


def test_brackets_of_other_scripts_are_no_marks():
    row = {"prompt": "Why?", "completion": "\u30104\u3011 \u3010\u6ce8\u610f\u3011"}
    assert names_in(row, tokenizer=None) == []
