"""Which tokens samples of the batches train, written down by the watch."""

import torch
from transformers import T5Config, T5ForConditionalGeneration

from ftlab.faults.builders.tiny import adamw, batches, llama
from ftlab.faults.builders.trainers import words
from ftlab.probes.schedule import DENSE
from ftlab.probes.tokens.row_samples import RowSamples, special_ids
from ftlab.records.event import Event
from ftlab.records.sample_facts import SeenSamples
from tests.probes.recording import Recording


def seen(made, *, tokenizer=None, micro_batches=1, interval=16, first=0):
    model = llama()
    optimizer = adamw(model)
    probes = [RowSamples(interval)]
    recording = Recording(
        model, optimizer, probes=probes, first_step=first, tokenizer=tokenizer
    )
    with recording:
        for number, batch in enumerate(made, 1):
            model(**batch).loss.backward()
            if number % micro_batches == 0:
                optimizer.step()
                optimizer.zero_grad()
    events = [each for each in recording.records if isinstance(each, Event)]
    return [SeenSamples.from_json(each.step, each.detail) for each in events]


def test_each_of_the_first_steps_is_looked_at_and_then_few():
    steps = [each.step for each in seen(batches(DENSE + 6), interval=1)]
    assert steps == [*range(DENSE), 8]


def test_the_first_steps_after_a_resume_are_looked_at():
    steps = [each.step for each in seen(batches(DENSE + 1), interval=1, first=41)]
    assert steps == [41, 42, 43, 44]


def test_rows_are_told_apart_by_micro_batch_and_limited():
    (first,) = seen(batches(2, size=RowSamples.rows - 4), micro_batches=2)
    places = [(each.micro_batch, each.row) for each in first.samples]
    assert places == [(0, n) for n in range(RowSamples.rows - 4)] + [
        (1, n) for n in range(4)
    ]


def test_a_batch_that_is_written_to_afterwards_is_told_as_it_was():
    (batch,) = batches(1)
    wanted = batch["input_ids"][0, :8].tolist()
    model = llama()
    optimizer = adamw(model)
    with Recording(model, optimizer, probes=[RowSamples()]) as recording:
        model(**batch).loss.backward()
        batch["input_ids"].zero_()
        optimizer.step()
    (event,) = [each for each in recording.records if isinstance(each, Event)]
    assert event.detail["samples"][0]["head"] == tuple(wanted)


def test_pieces_of_the_ends_and_of_control_tokens_are_kept():
    (batch,) = batches(1, size=1, length=40)
    (first,) = seen([batch], tokenizer=words())
    batch_ids = batch["input_ids"][0].tolist()
    controls = {each for each in batch_ids if each < 3}
    wanted = controls.union(batch_ids[:8], batch_ids[-8:], range(3))
    assert first.pieces == {n: words().decode([n]) for n in wanted}


def test_what_ends_a_generation_is_told_by_its_config():
    model, tokenizer = llama(eos_token_id=5), words()
    model.generation_config.eos_token_id = [6, 7]
    found = special_ids(tokenizer, model)
    assert found["generation"] == {6, 7}
    assert found["stop"] == {2, 6, 7}
    assert found["eos"] == {2}
    assert found["control"] == {0, 1, 2, 6, 7}
    del model.generation_config
    assert special_ids(tokenizer, model)["generation"] == {5}


def test_the_answers_of_a_decoder_are_texts_of_their_own():
    shape = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    model = T5ForConditionalGeneration(
        T5Config(vocab_size=64, pad_token_id=0, decoder_start_token_id=0, **shape)
    )
    optimizer = adamw(model)
    ids = torch.tensor([[9, 8, 7, 6, 5]] * 2)
    labels = torch.tensor([[11, 12, 1, -100], [13, 1, 0, 0]])
    with Recording(model, optimizer, probes=[RowSamples()]) as recording:
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
    (event,) = [each for each in recording.records if isinstance(each, Event)]
    first, second = SeenSamples.from_json(event.step, event.detail).samples
    assert (first.head, first.trained, first.padding_trained) == ((11, 12, 1), 3, 0)
    assert (second.head, second.trained, second.padding_trained) == ((13, 1), 2, 2)


def test_a_batch_without_ids_is_passed_over():
    model = torch.nn.Linear(3, 1)
    with Recording(model, probes=[RowSamples()]) as recording:
        model(torch.ones(2, 3)).sum().backward()
    assert not any(isinstance(each, Event) for each in recording.records)
