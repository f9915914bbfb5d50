"""Two templates are compared by their texts and by what they make of conversations."""

import json

from ftlab.probes.templates.compare import compare_templates, templates_in
from ftlab.records.rendering import Refusal
from tests.probes.templates import styles
from tests.probes.templates.styles import Special


def test_a_template_is_like_itself():
    found = compare_templates(Special(styles.MARKED), Special(styles.MARKED))
    assert found.text is None
    assert found.renderings == {}


def test_other_words_for_the_same_renderings_differ_in_the_text_alone():
    other = styles.MARKED.replace("m.role", "m['role']")
    found = compare_templates(Special(styles.MARKED), other)
    assert found.text.left.startswith(".role")
    assert found.renderings == {}


def test_the_first_difference_of_each_rendering_is_kept():
    found = compare_templates(Special(styles.MARKED), Special(styles.DEFAULT_SYSTEM))
    assert "system" not in found.renderings
    answer = found.renderings["answer"]
    assert answer.place == len("<|open|>")
    assert (answer.left[:4], answer.right[:10]) == ("user", "system\nYou")


def test_a_longer_end_is_a_difference():
    found = compare_templates(Special(styles.MARKED), styles.MARKED + "</s>")
    assert found.renderings["answer"].right == "</s>"


def test_refusals_are_differences_of_their_words():
    found = compare_templates(Special(styles.MARKED), Special(styles.NO_SYSTEM))
    assert found.renderings["system"].right.startswith('raised "no system')
    assert compare_templates(Special(None), "x").kind == "no template"
    assert isinstance(compare_templates("x", Special(None)), Refusal)


def test_a_folder_s_templates_are_named_by_file(tmp_path):
    (tmp_path / "chat_template.jinja").write_text("a")
    settings = {"chat_template": "b"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert templates_in(tmp_path) == {
        "chat_template.jinja": "a",
        "tokenizer_config.json": "b",
    }
    (tmp_path / "tokenizer_config.json").write_text("no json")
    assert templates_in(tmp_path) == {"chat_template.jinja": "a"}
