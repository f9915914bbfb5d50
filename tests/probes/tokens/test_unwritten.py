"""What of messages is nowhere in the ids that were made of them."""

import pytest

from ftlab.faults.builders.chats import TEMPLATE, chats, reasoned, tokenizer
from ftlab.probes.tokens.unwritten import unwritten
from tests.probes.tokens import vocabularies

LAST = TEMPLATE.replace("m in messages %}", "m in messages[-2:] %}")
CUT = TEMPLATE.replace(
    "{% generation %}{{ m['content'] }}",
    "{% generation %}{{ m['content'].split('>')[-1] }}",
)


def found(talks, template=TEMPLATE):
    made = tokenizer(template=template)
    rows = [
        (number, talk, made.apply_chat_template(talk, return_dict=True)["input_ids"])
        for number, talk in enumerate(talks)
    ]
    told = unwritten(rows, made)
    assert told["rows"] == len(talks)
    return [(f["kind"], f["rows"], f["message"]) for f in told["found"]]


def test_messages_that_are_written_are_found():
    assert found(chats(3, turns=2)) == []


def test_questions_and_answers_that_are_not_written_are_named():
    talks = chats(2, words=(5, 9), turns=2)
    assert found(talks, LAST) == [("user", 2, 0), ("assistant", 2, 1)]


def test_the_reasoning_that_a_content_opens_with_is_told_apart_from_its_answer():
    _, talks = reasoned(turns=1)
    assert found(talks[:2], CUT) == [("reasoning", 2, 1)]
    assert found(talks[:2]) == []


def test_a_reasoning_in_brackets_is_one_too():
    _, talks = reasoned(turns=1)
    for talk in talks:
        said = talk[1]["content"].replace("<think>", "[THINK]")
        talk[1]["content"] = said.replace("</think>", "[/THINK]")
    brackets = CUT.replace("split('>')", "split(']')")
    assert found(talks[:2], brackets) == [("reasoning", 2, 1)]


def test_another_tag_opens_no_reasoning():
    talks = chats(2, words=(5, 9))
    for talk in talks:
        talk[1]["content"] = f"<p>bread and salt turns</p> {talk[1]['content']}"
    assert found(talks, CUT) == []


def test_a_reasoning_before_the_last_question_may_be_left_out():
    _, talks = reasoned(turns=2)
    history = CUT.replace(
        "{{ m['content'].split('>')[-1] }}",
        "{{ m['content'] if loop.last else m['content'].split('>')[-1] }}",
    )
    assert found(talks[:2], history) == []
    open_ended = [talk[:3] for talk in talks[:2]]
    assert found(open_ended, CUT) == []


STRIPS = TEMPLATE.replace("{{ m['content'] }}", "{{ m['content'] | trim }}")


@pytest.mark.parametrize(
    "code",
    ["    return x", "\tx = 1", "\n    if x:\n        y()", "  - bread\n  - salt"],
)
def test_an_indentation_that_is_stripped_is_named(code):
    talks = [[{"role": "user", "content": "go on"}]]
    talks[0].append({"role": "assistant", "content": code})
    assert found(talks, STRIPS) == [("indentation", 1, 1)]
    assert found(talks) == []


@pytest.mark.parametrize(
    "text",
    ["  small boats", " a\n b", "\n\nif x:\n    y()", "    \nif x:\n  y()", "    "],
)
def test_other_outer_space_may_be_stripped(text):
    talks = [[{"role": "user", "content": "    go on"}]]
    talks[0].append({"role": "assistant", "content": text})
    assert found(talks, STRIPS) == []


def test_a_tokenizer_that_keeps_no_indentation_is_not_the_template_s_fault():
    talk = [{"role": "assistant", "content": "    return x"}]
    made = vocabularies.word_piece()
    ids = made(talk[0]["content"])["input_ids"]
    assert unwritten([(0, talk, ids)], made)["found"] == []


def test_nothing_is_told_of_no_rows():
    assert unwritten([], tokenizer()) == {}
