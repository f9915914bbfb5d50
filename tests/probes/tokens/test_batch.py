import types

import pytest
import torch
from transformers import BatchEncoding

from ftlab.probes.tokens.batch import Batches
from tests.models import batches, tiny_llama
from tests.probes.moments_of import Bench, finished, values_of

IDS = torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
LABELS = torch.tensor([[-100, 6, 7, -100], [-100, -100, -100, -100]])


class Anything(torch.nn.Module):
    config = types.SimpleNamespace(pad_token_id=0, eos_token_id=2)


def summary(*micro_batches, tokenizer=None, model=None, probe=None):
    model, probe = model or Anything(), probe or Batches()
    bench = Bench(model, tokenizer=tokenizer)
    for inputs in micro_batches:
        assert list(probe.on_batch(bench.moment(), inputs)) == []
    return values_of(finished(probe.on_gradients(bench.moment())))


def test_counts_tokens_padding_and_labels():
    inputs = {"input_ids": IDS, "attention_mask": MASK, "labels": LABELS}
    assert summary(inputs) == {
        "tokens": 5,
        "padding": 3,
        "labels": 2,
        "ignored": 6,
        "unlabelled": 0,
        "batch_size": 2,
        "sequence": 4,
    }


def test_micro_batches_without_a_label_that_counts_are_counted():
    first = {"input_ids": IDS, "attention_mask": MASK, "labels": LABELS}
    empty = first | {"labels": torch.full_like(LABELS, -100)}
    assert summary(empty, first, empty)["unlabelled"] == 2


def test_sums_over_micro_batches_and_keeps_the_longest():
    first = {"input_ids": IDS, "attention_mask": MASK, "labels": LABELS}
    second = {
        "input_ids": torch.ones(1, 7, dtype=torch.long),
        "attention_mask": torch.ones(1, 7),
        "labels": torch.ones(1, 7, dtype=torch.long),
    }
    values = summary(first, second)
    assert (values["tokens"], values["padding"]) == (12, 3)
    assert (values["labels"], values["ignored"]) == (9, 6)
    assert (values["batch_size"], values["sequence"]) == (3, 7)


def test_a_new_step_forgets_one_that_never_ended():
    probe, bench = Batches(), Bench(Anything())
    probe.on_batch(bench.moment(0), {"input_ids": IDS})
    probe.on_batch(bench.moment(1), {"input_ids": IDS})
    assert values_of(finished(probe.on_gradients(bench.moment(1))))["batch_size"] == 2
    assert list(probe.on_gradients(bench.moment(2))) == []


def test_gradients_that_are_read_after_each_micro_batch_give_the_sum():
    probe, bench = Batches(), Bench(Anything())
    for _ in range(2):
        probe.on_batch(bench.moment(), {"input_ids": IDS, "attention_mask": MASK})
        values = values_of(finished(probe.on_gradients(bench.moment())))
    assert (values["tokens"], values["batch_size"]) == (10, 4)


def test_without_a_mask_padding_is_told_by_its_id():
    assert summary({"input_ids": IDS})["tokens"] == 5


def test_the_tokenizer_knows_padding_better_than_the_model():
    tokenizer = types.SimpleNamespace(pad_token_id=5, eos_token_id=2)
    assert summary({"input_ids": IDS}, tokenizer=tokenizer)["padding"] == 1


@pytest.mark.parametrize("eos", [0, [0, 2]])
def test_padding_that_also_ends_a_text_is_counted_as_text(eos):
    tokenizer = types.SimpleNamespace(pad_token_id=0, eos_token_id=eos)
    assert summary({"input_ids": IDS}, tokenizer=tokenizer)["tokens"] == 8


def test_packed_rows_without_a_mask_are_all_tokens():
    tokenizer = types.SimpleNamespace(pad_token_id=None)
    model = torch.nn.Linear(1, 1)
    inputs = {"input_ids": IDS[:1], "position_ids": torch.arange(4)[None]}
    values = summary(inputs, tokenizer=tokenizer, model=model)
    assert (values["tokens"], values["padding"]) == (4, 0)


def test_a_four_dimensional_mask_is_not_a_count():
    mask = torch.zeros(2, 1, 4, 4)
    values = summary({"input_ids": IDS, "attention_mask": mask})
    assert (values["tokens"], values["padding"]) == (8, 0)


def test_finds_the_batch_within_an_argument():
    batch = BatchEncoding({"input_ids": IDS, "attention_mask": MASK})
    assert summary({"inputs": batch})["tokens"] == 5
    assert (
        summary({"inputs": {"input_ids": IDS, "attention_mask": MASK}})["tokens"] == 5
    )


def test_embedded_inputs_have_positions_but_no_ids():
    values = summary({"inputs_embeds": torch.zeros(2, 4, 8), "attention_mask": MASK})
    assert (values["tokens"], values["sequence"]) == (5, 4)
    assert summary({"inputs_embeds": torch.zeros(2, 4, 8)})["tokens"] == 8


def test_float_labels_are_no_tokens():
    values = summary({"input_ids": IDS, "labels": torch.zeros(2, 1)})
    assert "labels" not in values
    assert "ignored" not in values


def test_an_unknown_model_gives_its_batch_size_alone():
    assert summary({"x": torch.zeros(3, 5)}) == {"batch_size": 3}
    assert summary({"x": torch.zeros(())}) == {"batch_size": 0}
    assert summary({"x": None, "y": "text"}) == {"batch_size": 0}


def test_a_row_without_batch_dimension_is_one_row():
    values = summary({"input_ids": torch.ones(6, dtype=torch.long)})
    assert (values["batch_size"], values["sequence"]) == (1, 6)


def test_rate_follows_from_the_step_s_seconds():
    probe = Batches(seconds_of=lambda _: 0.5)
    inputs = {"input_ids": IDS, "attention_mask": MASK}
    assert summary(inputs, probe=probe)["tokens_per_second"] == 10


def test_leaves_the_inputs_alone():
    batch = next(batches(1))
    before = {name: value.clone() for name, value in batch.items()}
    summary(batch, model=tiny_llama())
    assert set(batch) == set(before)
    assert all(torch.equal(batch[name], before[name]) for name in batch)
