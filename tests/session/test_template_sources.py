"""The template of a tokenizer beside that of its base model and of a saved adapter."""

import json

import pytest

import ftlab
from ftlab.records.errors import BadValueError
from ftlab.session.template_sources import is_source
from tests.probes.tokens import vocabularies

TALK = [
    {"role": "user", "content": "Why?"},
    {"role": "assistant", "content": "So."},
]


def tokenizer(template=vocabularies.CHATML):
    made = vocabularies.byte_level()
    made.chat_template = template
    return made


def test_the_same_template_in_another_place_is_called_the_same(tmp_path):
    mine = tokenizer()
    mine.save_pretrained(tmp_path)
    places = {"mine": mine, "base": tokenizer(), "adapter": str(tmp_path)}
    said = repr(ftlab.tokens(mine, TALK, template=places).side_by_side)
    assert "base: the template of mine" in said
    assert "adapter: the template of mine" in said
    assert "adapter has the same tokens as mine" in said


def test_a_changed_template_is_told_by_what_it_writes(tmp_path):
    mine = tokenizer(vocabularies.CHATML.replace("<|im_end|>", "</s>"))
    mine.save_pretrained(tmp_path)
    base = tokenizer()
    view = ftlab.tokens(base, TALK, template={"base": base, "adapter": tmp_path})
    assert "adapter: writes 11 of 11 conversations" in repr(view)
    assert "'</s>" in repr(view)


def test_what_this_conversation_does_not_show_is_tried_all_the_same():
    system = "{% if messages[0].role == 'system' %}!{% endif %}"
    base = tokenizer()
    other = tokenizer(system + vocabularies.CHATML)
    view = ftlab.tokens(base, TALK, template={"base": base, "other": other})
    assert "other has the same tokens as base" in repr(view.side_by_side)
    assert "other: writes 2 of 11 conversations" in repr(view)
    assert "the system: '!" in repr(view)


def test_another_text_that_writes_the_same():
    base = tokenizer()
    other = tokenizer(vocabularies.CHATML + "{# a remark #}")
    view = ftlab.tokens(base, TALK, template={"base": base, "other": other})
    assert "other: another text than the template of base, which" in repr(view)


def test_two_files_of_a_folder_that_disagree_are_both_shown(tmp_path):
    (tmp_path / "chat_template.jinja").write_text(vocabularies.CHATML)
    settings = {"chat_template": vocabularies.PLAIN}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    view = ftlab.tokens(tokenizer(), TALK, template={"adapter": tmp_path})
    assert [row.source for row in view._read.rows] == [
        "adapter, chat_template.jinja",
        "adapter, tokenizer_config.json",
    ]


def test_a_source_alone_is_the_template(tmp_path):
    tokenizer(vocabularies.PLAIN).save_pretrained(tmp_path)
    base = tokenizer()
    for source in (tmp_path, str(tmp_path), tokenizer(vocabularies.PLAIN)):
        view = ftlab.tokens(base, TALK, template=source)
        plain = ftlab.tokens(base, TALK, template=vocabularies.PLAIN)
        assert view.table()["id"].tolist() == plain.table()["id"].tolist()


def test_a_place_without_a_template_is_refused(tmp_path):
    with pytest.raises(BadValueError, match="contains no chat template, neither"):
        ftlab.tokens(tokenizer(), TALK, template={"adapter": tmp_path})
    with pytest.raises(BadValueError, match=r"base: .*chat.template"):
        ftlab.tokens(tokenizer(), TALK, template={"base": tokenizer(None)})


def test_templates_given_as_texts_are_not_compared_with_each_other():
    texts = {"chat": vocabularies.CHATML, "plain": vocabularies.PLAIN}
    assert "conversations" not in repr(ftlab.tokens(tokenizer(), TALK, template=texts))


@pytest.mark.parametrize("text", ["x" * 5_000, "a\0b", "no/such/folder"])
def test_a_text_without_braces_is_no_folder(text):
    assert not is_source(text)
