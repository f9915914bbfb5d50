"""Rows that nobody trains on yet give the events that a watch writes of them."""

import numpy as np
import torch

import ftlab
from ftlab.faults.builders.chats import answers_only, chats, padded_by_length, tokenizer
from ftlab.faults.builders.tiny import llama
from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.row_events import row_events
from ftlab.probes.tokens.rows import read_batch
from ftlab.records.token_row import TokenBatch, TokenRow


def test_the_events_are_those_of_a_watched_training():
    made = tokenizer()
    model = llama(vocab_size=len(made), max_position_embeddings=256)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = padded_by_length(made)(answers_only(made, chats(4)))
    facts = survey(made, model)  # a cold worker may take longer than a watch waits
    with ftlab.watch(model, optimizer=optimizer, tokenizer=made) as watch:
        model(**batch).loss.backward()
        optimizer.step()
    read = read_batch(batch, made, facts=facts)
    told = {e.kind: e for e in watch.run.events if e.kind in {"rows", "turns"}}
    for event in row_events(read, made, model, facts):
        assert event.detail["samples"] == told[event.kind].detail["samples"]
        assert set(event.detail) == set(told[event.kind].detail)


def test_turns_are_read_where_the_template_is_known():
    made = tokenizer()
    batch = padded_by_length(made)(answers_only(made, chats(3)))
    facts = survey(made)
    read = read_batch(batch, made, facts=facts)
    kinds = {each.kind: each for each in row_events(read, made, None, facts)}
    assert sorted(kinds) == ["rows", "turns"]
    roles = [turn["role"] for turn in kinds["turns"].detail["samples"][0]["turns"]]
    assert roles[-1] == "assistant"
    assert [e.kind for e in row_events(read, made)] == ["rows"]


def test_labels_of_another_length_are_none():
    row = TokenRow(np.array([5, 6, 7]), labels=np.array([8, 9]))
    (event,) = row_events(TokenBatch((row,), {}))
    assert event.detail["samples"][0]["labelled"] is False
