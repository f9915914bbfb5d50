"""A batch that nobody trains on yet gives the events that a watch writes of it."""

import torch

import ftlab
from ftlab.faults.builders.chats import (
    answers_only,
    chats,
    padded_by_length,
    sized,
    tokenizer,
)
from ftlab.probes.tokens.batch_events import batch_events


def batch_of(made, count=4):
    return dict(padded_by_length(made)(answers_only(made, chats(count))))


def test_the_events_are_those_of_a_watched_training():
    made = tokenizer()
    made.padding_side = "left"
    model, batch = sized(made), batch_of(made)
    del batch["attention_mask"]
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with ftlab.watch(model, optimizer=optimizer, tokenizer=made) as watch:
        model(**batch).loss.backward()
        optimizer.step()
    told = {e.kind: e for e in watch.run.events}
    found = list(batch_events(batch, made, model))
    assert [each.kind for each in found] == ["batch", "attention"]
    for event in found:
        assert event.detail == told[event.kind].detail
    assert found[1].detail["places"]


def test_lists_and_arrays_are_read_as_tensors_are():
    made = tokenizer()
    model, batch = sized(made), batch_of(made)
    batch["input_ids"][2, 3] = 9_999
    given = {**batch, "input_ids": batch["input_ids"].tolist()}
    given["labels"] = batch["labels"].numpy()
    known, found = batch_events(batch, made, model), batch_events(given, made, model)
    assert next(found).detail == next(known).detail
    ragged = {"input_ids": [[1, 2], [3]], "labels": None}
    assert [each.kind for each in batch_events(ragged, made)] == ["batch"]


def test_without_a_model_only_the_batch_itself_is_looked_at():
    made = tokenizer()
    (event,) = batch_events(batch_of(made), made)
    assert event.kind == "batch"


def test_neither_the_batch_nor_the_model_is_changed():
    made = tokenizer()
    model, batch = sized(made), batch_of(made)
    before = {name: value.clone() for name, value in batch.items()}
    state = torch.get_rng_state()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    list(batch_events(batch, made, model))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(batch[name], before[name]) for name in before)
    known = model.state_dict()
    assert all(torch.equal(known[name], weights[name]) for name in weights)
    assert model.training
    assert all(each.grad is None for each in model.parameters())
