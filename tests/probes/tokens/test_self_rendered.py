"""Conversations as the tokenizers that ship in mistral-common write them."""

import functools
from pathlib import Path
from types import SimpleNamespace

import pytest

import ftlab
from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.pieces import PieceBook
from ftlab.probes.tokens.self_rendered import row_by_itself
from ftlab.records.errors import BadValueError

FILES = [
    "mistral_instruct_tokenizer_240216.model.v2",
    "mistral_instruct_tokenizer_240323.model.v3",
    "mistral_instruct_tokenizer_241114.model.v7",
    "mistral_instruct_tokenizer_241114.model.v7m1",
    "tekken_240718.json",
    "tekken_240911.json",
    "tokenizer.model.v1",
]
TALK = [
    {"role": "user", "content": "Größe 日本?"},
    {"role": "assistant", "content": "Eine 😀 Antwort."},
    {"role": "user", "content": "مرحبا?"},
    {"role": "assistant", "content": "Darum."},
]


@pytest.fixture(scope="module", params=FILES)
def file(request):
    mistral_common = pytest.importorskip("mistral_common")
    pytest.importorskip("transformers.tokenization_mistral_common")
    return Path(mistral_common.__file__).parent / "data" / request.param


@functools.cache
def load(file, mode="finetuning"):
    from transformers.tokenization_mistral_common import MistralCommonBackend

    return MistralCommonBackend(tokenizer_path=file, mode=mode)


def words(view, *parts):
    row, pieces = view._read.rows[0], view._read.pieces
    return [
        "".join(
            row.texts.get(at, pieces[int(row.ids[at])].text)
            for at in range(turn.start, turn.end)
        ).strip()
        for turn in row.turns
        if turn.part in parts
    ]


def test_ids_are_its_own_and_turns_and_ends_are_found(file):
    tokenizer = load(file)
    view = ftlab.tokens(tokenizer, TALK)
    ids = tokenizer.apply_chat_template(TALK, tokenize=True)["input_ids"]
    row = view._read.rows[0]
    assert row.ids.tolist() == list(ids)
    assert words(view, "text") == [each["content"] for each in TALK]
    assert words(view, "header") == ["[INST]", "[/INST]"] * 2
    assert words(view, "end") == ["</s>"] * 2
    assert [turn.message for turn in row.turns if turn.part == "text"] == [0, 1, 2, 3]
    assert [answer.terminator for answer in view.ends.rows[0].answers] == list(
        view.ends.rows[0].eos
    )
    assert "answers end with </s>" in str(view.ends)
    assert "within the text" not in str(view.ends)


def test_a_prompt_ends_with_what_opens_an_answer(file):
    view = ftlab.tokens(load(file, "test"), TALK[:3])
    assert words(view, "end") == ["</s>", "[/INST]"]
    assert [answer.message for answer in view.ends.rows[0].answers] == [1]


def test_a_refusal_is_passed_on_and_says_what_helps(file):
    with pytest.raises(BadValueError, match=r"assistant.*mode=\"finetuning\""):
        ftlab.tokens(load(file, "test"), TALK)
    with pytest.raises(BadValueError, match="MistralCommonBackend says") as raised:
        ftlab.tokens(load(file), [{"role": "robot", "content": "Hi"}])
    assert len(str(raised.value)) < 600


def test_without_a_template_the_survey_says_so_and_a_template_may_be_given(file):
    tokenizer = load(file)
    assert "code of its own" in survey(tokenizer).words[0]
    template = (
        "{% for m in messages %}[{{ m.role }}] {{ m.content }} </s>\n{% endfor %}"
    )
    assert survey(tokenizer, template=template).terminator == " </s>\n"
    view = ftlab.tokens(tokenizer, TALK, template=template)
    assert words(view, "text") == [each["content"] for each in TALK]
    assert words(view, "end") == ["</s>"] * 4
    # these never read a control token out of a text, so that nothing stops here
    assert not view.ends.rows[0].eos


def test_a_system_text_may_be_written_into_a_question(file):
    system = {"role": "system", "content": "Be brief."}
    view = ftlab.tokens(load(file, "test"), [system, *TALK[:3]])
    asked = [each["content"] for each in TALK[:3]]
    assert words(view, "text")[-3:] == asked
    assert words(view, "end") == ["</s>", "[/INST]"]
    assert "within the text" not in str(view.ends)


def test_texts_that_were_changed_leave_no_turns():
    def backwards(talk, tokenize):
        return [5, 6, 7]

    tokenizer = SimpleNamespace(apply_chat_template=backwards)
    row = row_by_itself(tokenizer, TALK, PieceBook(None), "", {})
    assert row.turns == ()
