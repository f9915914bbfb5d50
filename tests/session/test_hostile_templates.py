"""Templates that mean harm, by every way in which they reach ftlab."""

import pytest
import transformers

import ftlab
from ftlab.faults.builders.chats import (
    answers_only,
    chats,
    padded_by_length,
    tokenizer as chat_tokenizer,
    trained_on,
)
from ftlab.records.errors import BadValueError
from tests.probes.tokens import vocabularies

TALK = [
    {"role": "user", "content": "Why?"},
    {"role": "assistant", "content": "So."},
]
HOSTILE = {
    "escape": (
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "tried to reach what no template may",
    ),
    "endless": (
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}"
        "{% endfor %}",
        "ran longer than 2 s and was stopped",
    ),
    "memory": ("{{ 'a' * 10 ** 10 }}", "wanted more than 512 MB of memory"),
    "recursion": (
        "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
        "calls itself without end",
    ),
    "gigantic": (
        "{% for i in range(9000) %}{{ 'abc' * 2000 }}{% endfor %}",
        "wrote 54,000,000 characters; more than 5,000,000 are not shown",
    ),
}
kinds = pytest.mark.parametrize("kind", HOSTILE)


def trainer_of(template):
    transformers.utils.logging.set_verbosity_error()
    made = chat_tokenizer()
    rows = answers_only(made, chats(16))
    made.chat_template = template
    collator = padded_by_length(made)
    return trained_on(made, rows, collator, max_steps=3, report_to=[]).trainer


@kinds
def test_of_a_tokenizer_and_as_a_template_it_is_refused_in_words(kind):
    template, words = HOSTILE[kind]
    mine = vocabularies.byte_level()
    mine.chat_template = template
    with pytest.raises(BadValueError, match=words) as raised:
        ftlab.tokens(mine, TALK)
    assert len(str(raised.value)) < 600
    with pytest.raises(BadValueError, match=words):
        ftlab.tokens(vocabularies.byte_level(), TALK, template=template)


@pytest.mark.parametrize("kind", ["escape", "memory", "gigantic"])
def test_beside_others_it_is_named_and_they_are_shown(kind, tmp_path):
    template, words = HOSTILE[kind]
    mine = vocabularies.byte_level()
    (tmp_path / "chat_template.jinja").write_text(template)
    ways = {"mine": mine, "adapter": tmp_path}
    said = repr(ftlab.tokens(mine, TALK, template=ways, serving=True))
    assert f"adapter: the template could not be rendered: {words}" in said
    assert "mine: message 1: served as it was trained" in said


@kinds
def test_a_trainer_with_it_is_looked_at_and_judged_by_its_rows(kind):
    template, words = HOSTILE[kind]
    trainer = trainer_of(template)
    view = ftlab.tokens(trainer)
    assert words in view.facts.words[0]
    assert "8 samples" in repr(view)
    assert repr(ftlab.preflight(trainer))


@kinds
def test_a_watched_training_goes_on(kind, tmp_path):
    template, _ = HOSTILE[kind]
    trainer = trainer_of(template)
    with ftlab.watch(trainer, run_dir=tmp_path / "run") as watch:
        trainer.train()
    assert watch.run.steps.step.tolist() == [0, 1, 2]
    assert "none" in repr(watch.findings).splitlines()[0]
