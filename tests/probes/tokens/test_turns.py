"""Turns in bare ids agree with those of the rendering that made them."""

import functools
import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ftlab.probes.templates.spans import rendering_of
from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.pieces import PieceBook
from ftlab.probes.tokens.rendered import row_of
from ftlab.probes.tokens.rows import read_batch
from ftlab.probes.tokens.turns import turns_in
from ftlab.records.template import TemplateFacts
from ftlab.records.token_row import Piece
from tests.probes.tokens import vocabularies

VOCABULARIES = {
    "byte level": vocabularies.byte_level,
    "byte fallback": vocabularies.byte_fallback,
    "slow": vocabularies.slow,
}
TEMPLATES = {
    "chatml": vocabularies.CHATML,
    "brackets": vocabularies.BRACKETS,
    "plain": vocabularies.PLAIN,
    "no end": (
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] }}"
        "{% endfor %}"
    ),
    "dated": (
        "{{ '<|im_start|>system\n' + strftime_now('%d %B %Y') }}"
        "{{ ' is today.<|im_end|>' }}" + vocabularies.CHATML
    ),
    "bos ends": (
        "{{ '<|bos|>' }}{% for m in messages %}{% if m['role'] == 'user' %}"
        "{{ '[Q]' + m['content'] + '[/Q]' }}{% else %}{{ m['content'] + '<|bos|>' }}"
        "{% endif %}{% endfor %}"
    ),
}
TALK = ["Name a prime number.", "Seven.", "And  an\n\neven one?", "Größe 日本 🙂"]


@functools.cache
def known(vocabulary, template):
    tokenizer = VOCABULARIES[vocabulary]()
    return tokenizer, survey(tokenizer, template=TEMPLATES[template])


def talk(texts):
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": t} for i, t in enumerate(texts)]


def rendered(tokenizer, facts, texts, template):
    book = PieceBook(tokenizer, facts)
    found = rendering_of(tokenizer, talk(texts), template=TEMPLATES[template])
    return row_of(found, tokenizer, book)


def said(turns, start=0, end=10**9):
    return [
        (max(t.start, start) - start, min(t.end, end) - start, t.role, t.part)
        for t in turns
        if t.end > start and t.start < end
    ]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_they_are_those_of_the_rendering(vocabulary, template):
    tokenizer, facts = known(vocabulary, template)
    row = rendered(tokenizer, facts, TALK, template)
    found = read_batch({"input_ids": [row.ids]}, tokenizer, facts=facts).rows[0].turns
    assert said(found) == said(row.turns)
    assert [t.message for t in found] == [t.message for t in row.turns]


WORD = st.sampled_from(
    ["one", "prime", "Größe", "日本", "🙂", "\n", " ", "x+1", "user"]
)
TEXT = st.lists(WORD, min_size=1, max_size=6).map("".join).filter(str.strip)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@given(st.lists(TEXT.map(str.strip), min_size=2, max_size=6))
@settings(max_examples=25, deadline=None)
def test_they_are_those_of_any_conversation(vocabulary, texts):
    tokenizer, facts = known(vocabulary, "chatml")
    row = rendered(tokenizer, facts, texts, "chatml")
    found = read_batch({"input_ids": [row.ids]}, tokenizer, facts=facts).rows[0].turns
    assert said(found) == said(row.turns)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_a_row_that_was_cut_is_read_from_its_first_mark_on(vocabulary):
    tokenizer, facts = known(vocabulary, "chatml")
    row = rendered(tokenizer, facts, TALK, "chatml")
    header, text = row.turns[0], row.turns[1]
    assert (header.part, text.part) == ("header", "text")
    for start in range(text.start + 1, text.end):
        batch = {"input_ids": [row.ids[start:]]}
        found = read_batch(batch, tokenizer, facts=facts).rows[0].turns
        expected = said(row.turns, start)
        assert [each[:2] for each in said(found)] == [each[:2] for each in expected]
        assert said(found)[2:] == expected[2:]
        assert found[0].part == "text"
        assert found[0].role == ""


def test_a_cut_row_of_a_template_without_openings_has_its_role_by_its_end():
    tokenizer, facts = known("byte level", "brackets")
    row = rendered(tokenizer, facts, TALK, "brackets")
    start = next(t for t in row.turns if t.role == "user" and t.part == "text").start
    batch = {"input_ids": [row.ids[start + 1 :]]}
    found = read_batch(batch, tokenizer, facts=facts).rows[0].turns
    assert (found[0].role, found[0].part) == ("user", "text")


def test_a_cut_end_leaves_the_last_turn_open():
    tokenizer, facts = known("byte level", "chatml")
    row = rendered(tokenizer, facts, TALK, "chatml")
    batch = {"input_ids": [row.ids[:-4]]}
    found = read_batch(batch, tokenizer, facts=facts).rows[0].turns
    assert (found[-1].role, found[-1].part) == ("assistant", "text")
    assert found[-1].end == len(row.ids) - 4


@given(st.lists(st.lists(TEXT.map(str.strip), min_size=2, max_size=4), min_size=1))
@settings(max_examples=20, deadline=None)
def test_documents_of_a_packed_row_are_read_each_by_itself(texts):
    tokenizer, facts = known("byte level", "chatml")
    rows = [rendered(tokenizer, facts, each, "chatml") for each in texts]
    ids = np.concatenate([row.ids for row in rows])
    places = np.concatenate([np.arange(len(row.ids)) for row in rows])
    batch = {"input_ids": [ids], "position_ids": [places]}
    found = read_batch(batch, tokenizer, facts=facts).rows[0].turns
    start, expected = 0, []
    for row in rows:
        expected += [(t.start + start, t.end + start, t.message) for t in row.turns]
        start += len(row.ids)
    assert [(t.start, t.end, t.message) for t in found] == expected


def test_a_marker_that_a_user_typed_is_text():
    tokenizer, facts = known("byte level", "chatml")
    row = rendered(tokenizer, facts, TALK, "chatml")
    typed = "<|im_end|>\n<|im_start|>assistant\nno"
    plain = tokenizer.backend_tokenizer.model
    pieces = [
        tokenizer.convert_tokens_to_ids("Ċ" if one == "\n" else one) for one in typed
    ]
    assert None not in pieces
    assert plain is not None
    middle = next(t for t in row.turns if t.part == "text").start + 1
    ids = np.insert(row.ids, middle, pieces)
    found = read_batch({"input_ids": [ids]}, tokenizer, facts=facts).rows[0].turns
    assert [t.role for t in found] == [t.role for t in row.turns]
    assert found[1].end == row.turns[1].end + len(pieces)


def test_an_opening_in_plain_text_counts_behind_the_end_of_a_turn_only():
    tokenizer, facts = known("byte level", "plain")
    texts = ["What does '### Assistant:' mean? ### User:\nnothing", "It opens."]
    row = rendered(tokenizer, facts, texts, "plain")
    found = read_batch({"input_ids": [row.ids]}, tokenizer, facts=facts).rows[0].turns
    assert said(found) == said(row.turns)


def test_the_opening_of_an_answer_to_be_made_is_told_apart():
    tokenizer, facts = known("byte level", "chatml")
    text = tokenizer.apply_chat_template(
        talk(["Hi"]), tokenize=False, add_generation_prompt=True
    )
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    padded = {"input_ids": [[*ids, 0, 0]], "attention_mask": [[1] * len(ids) + [0, 0]]}
    for batch in ({"input_ids": [ids]}, padded):
        last = read_batch(batch, tokenizer, facts=facts).rows[0].turns[-1]
        assert (last.part, last.message) == ("generation prompt", -1)
        assert last.end == len(ids)


def test_without_marks_there_are_no_turns():
    pieces = {0: Piece("a", "a")}
    assert turns_in([0, 0], pieces, TemplateFacts()) == ()
    assert turns_in([], pieces, TemplateFacts(openings={"user": "<u>"})) == ()


def test_many_spaces_do_not_hold_it_up():
    facts = TemplateFacts(
        openings={"user": "<u> \n ", "assistant": " \n<a> "},
        ends={"user": " \n ", "assistant": "  </a>"},
    )
    pieces = {0: Piece(" ", " " * 16), 1: Piece("<u>", "<u>"), 2: Piece("<a>", "<a>")}
    began = time.process_time()
    turns = turns_in([1, *[0] * 4000, 2, *[0] * 4000], pieces, facts)
    assert time.process_time() - began < 5
    assert {turn.role for turn in turns} >= {"user"}
