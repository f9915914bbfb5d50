"""Who speaks where in samples of the batches, written down by the watch."""

import time

import numpy as np
import pytest

from ftlab.faults.builders.chats import (
    answers_only,
    chats,
    padded_by_length,
    reasoned,
    tokenizer,
)
from ftlab.faults.builders.tiny import adamw, llama
from ftlab.probes.templates.survey import survey, try_out
from ftlab.probes.templates.worker import Renderer
from ftlab.probes.tokens import template_survey
from ftlab.probes.tokens.row_samples import special_ids
from ftlab.probes.tokens.sample_reading import Columns
from ftlab.probes.tokens.template_survey import TemplateSurvey
from ftlab.probes.tokens.turn_samples import TurnSamples, book_of, turns_of
from ftlab.records.event import Event
from ftlab.records.template import TemplateFacts
from ftlab.records.turn_facts import SampleTurns
from tests.models import update
from tests.probes.recording import Recording


def events(made, steps=2):
    (batch,) = [dict(padded_by_length(made)(answers_only(tokenizer(), chats(2))))]
    model = llama(vocab_size=len(made), max_position_embeddings=256)
    optimizer = adamw(model)
    settings = {"probes": [TurnSamples()], "tokenizer": made}
    with Recording(model, optimizer, **settings) as recording:
        for _ in range(steps):
            update(model(**batch).loss, optimizer)
    found = [each for each in recording.records if isinstance(each, Event)]
    return batch, found


def test_turns_of_a_short_run_are_told_at_its_end_at_the_latest():
    made = tokenizer()
    batch, found = events(made)
    assert [each.step for each in found] == [0, 1]
    sample = SampleTurns.from_json(found[0].detail["samples"][0])
    texts = {
        (turn.role, turn.part): made.decode(
            batch["input_ids"][0, turn.start : turn.end]
        )
        for turn in sample.turns
    }
    ((question, answer), _) = chats(2)
    assert texts["user", "text"] == question["content"]
    assert texts["assistant", "text"] == answer["content"]
    assert texts["assistant", "end"].strip() == "</turn>"
    trained = {turn.part for turn in sample.turns if turn.trained}
    assert trained == {"text", "end"}
    assert sum(turn.trained for turn in sample.turns) == sample.trained


def test_the_facts_of_the_template_are_told_once():
    _, (first, second) = events(tokenizer())
    facts = TemplateFacts.from_json(first.detail["template"])
    assert facts.terminator.strip() == "</turn>"
    assert "template" not in second.detail


def thinks(texts):
    """Which answers of a conversation hold a reasoning."""
    made, _ = reasoned(turns=1)
    roles = ("user", "assistant") * len(texts)
    talk = [{"role": r, "content": t} for r, t in zip(roles, texts, strict=False)]
    row = made.apply_chat_template(talk, return_dict=True)["input_ids"]
    facts = survey(made)
    columns = Columns(np.array(row), np.array(row))
    special = special_ids(made, None)
    (said,) = turns_of((0, 0, columns), facts, book_of(made, facts), special)
    return [
        t.reasoning for t in said.turns if (t.role, t.part) == ("assistant", "text")
    ]


def test_answers_with_a_reasoning_are_told_from_those_without():
    thought = "<think>the boats carry salt</think>salt."
    assert thinks(["salt?", thought]) == [True]
    assert thinks(["salt?", thought, "bread?", thought]) == [False, True]
    assert thinks(["salt?", "bread \U0001f642."]) == [False]


def test_an_empty_reasoning_is_none():
    assert thinks(["salt?", "<think>\n\n</think>\n\nsalt."]) == [False]


def test_a_question_that_speaks_of_reasoning_is_no_answer():
    assert thinks(["what is a b </think>?", "salt."]) == [False]


@pytest.mark.parametrize("template", [None, "{{ raise_exception('no') }}"])
def test_without_a_template_that_renders_nothing_is_told(template):
    made = tokenizer()
    made.chat_template = template
    assert events(made)[1] == []


def test_a_template_that_never_ends_is_given_up():
    made = tokenizer(template="{% for n in range(10 ** 9) %}{% endfor %}")
    survey = TemplateSurvey(made)
    assert survey.wanted
    assert not survey.ready()
    assert survey.facts() is None


def test_the_tokenizer_is_left_as_it_was():
    made = tokenizer()
    backend = made.backend_tokenizer
    backend.enable_truncation(7)
    backend.enable_padding(length=9)
    before = backend.truncation, backend.padding
    assert TemplateSurvey(made).ready(30.0)
    assert events(made)[1]
    assert (backend.truncation, backend.padding) == before


def test_training_waits_for_no_rendering(monkeypatch):
    made = tokenizer()
    expected = survey(made)
    found = TemplateSurvey(made)
    assert found.ready(30.0)
    monkeypatch.setattr(Renderer, "render_all", None)
    assert found.facts() == found.facts() == expected


def test_a_run_of_one_step_waits_for_a_survey_that_takes_longer(monkeypatch):
    def late(source):
        time.sleep(0.5)
        return try_out(source)

    monkeypatch.setattr(template_survey, "try_out", late)
    _, (told,) = events(tokenizer(), steps=1)
    assert told.detail["samples"]


def test_labels_of_another_text_train_none_of_the_turns():
    made = tokenizer()
    facts = survey(made)
    rows = [np.array(row["input_ids"]) for row in answers_only(made, chats(2))]
    ids = rows[0]
    other = np.resize(rows[1][::-1], len(ids))
    (own,) = turns_of(
        (0, 0, Columns(ids, ids)), facts, book_of(made, facts), special_ids(made, None)
    )
    (strange,) = turns_of(
        (0, 0, Columns(ids, other)),
        facts,
        book_of(made, facts),
        special_ids(made, None),
    )
    assert own.labelled
    assert sum(turn.trained for turn in own.turns) == len(ids)
    assert not strange.labelled
    assert {turn.trained for turn in strange.turns} == {0}
