"""Layer data: the chat template of the tokenizer."""

import pytest

from ftlab.faults.builders.chats import tokenizer
from ftlab.session.preflight.preflight import preflight
from tests.runs import places
from tests.session.preflight.objects import item_of, lora_loop

TEMPLATE = "the chat template renders"
LOOP = "{% for m in messages %}"
ENDLESS = (
    "{% for n in range(99999) %}{% for k in range(99999) %}{% endfor %}{% endfor %}"
)


def test_a_template_that_renders_says_how_an_answer_ends():
    item = item_of(TEMPLATE, **lora_loop(), tokenizer=tokenizer())
    assert item.status == "passed"
    assert item.says == "an answer ends with '</turn>'"


def test_what_a_template_does_is_told():
    given = tokenizer(template=LOOP + "<{{ m.role }}>{{ m.content }}{% endfor %}")
    item = item_of(TEMPLATE, **lora_loop(), tokenizer=given)
    assert item.says == "an answer ends with nothing"
    assert "does not learn to stop" in str(item.evidence["to know"])


@pytest.mark.parametrize(
    ("template", "words"),
    [(LOOP + "{{ m.content }", "syntax error"), (ENDLESS, "was stopped")],
    ids=["syntax", "endless"],
)
def test_a_template_that_nothing_can_be_rendered_with_fails(template, words):
    item = item_of(TEMPLATE, **lora_loop(), tokenizer=tokenizer(template=template))
    assert item.status == "failed"
    assert item.severity.label == "warning"
    assert words in item.says
    assert places(item) == ["config chat_template"]


def test_a_template_that_wants_other_messages_is_not_judged():
    given = tokenizer(template="{{ raise_exception('pictures only') }}")
    item = item_of(TEMPLATE, **lora_loop(), tokenizer=given)
    assert item.status == "not checked"
    assert "pictures only" in item.says


def test_without_a_template_nothing_is_said():
    made = tokenizer()
    made.chat_template = None
    items = preflight(**lora_loop(), tokenizer=made)["data"]
    assert TEMPLATE not in {each.name for each in items}
