import pytest
import torch

from ftlab.probes.tokens.masked_rows import MaskedRows
from tests.models import batches, tiny_llama, tiny_lora
from tests.probes.moments_of import Bench, finished, rows_of


def counts(model, optimizer, batch, step=0):
    probe, bench = MaskedRows(), Bench(model, optimizer)
    moment = bench.moment(step)
    assert list(probe.on_batch(moment, batch)) == []
    model(**batch).loss.backward()
    assert list(probe.before_update(moment)) == []
    optimizer.step()
    rows = rows_of(finished(probe.after_update(moment)))
    probe.on_close(moment)
    assert list(probe.after_update(moment)) == []
    return [
        tuple(int(row[c]) for c in ("rows", "masked", "moved")) for row in rows.values()
    ]


def adamw(model, decay=0.1):
    return torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=decay)


def distinct(ids):
    return len(ids[ids != 0].unique())  # 0 is padding


def test_each_row_that_is_looked_up_gets_a_gradient():
    model, (batch,) = tiny_llama(), batches(1)
    ids = batch["input_ids"][:, :-1]
    assert counts(model, adamw(model), batch) == [(distinct(ids), 0, 0)]


@pytest.mark.parametrize(("decay", "moves"), [(0.1, True), (0.0, False)])
def test_counts_masked_rows_and_those_that_move(decay, moves):
    model, (batch,) = tiny_llama(), batches(1)
    ids = batch["input_ids"][:, :-1]
    keep = int(ids.max())

    def mask(gradient):
        only = torch.zeros_like(gradient)
        only[keep] = gradient[keep]
        return only

    model.get_input_embeddings().weight.register_hook(mask)
    rows = distinct(ids)
    expected = (rows, rows - 1, (rows - 1) * moves)
    assert counts(model, adamw(model, decay), batch) == [expected]


def test_tokens_that_no_label_comes_after_do_not_count():
    model, (batch,) = tiny_llama(), batches(1)
    batch["labels"][:, 5:] = -100
    ids = batch["input_ids"][:, :4]
    assert counts(model, adamw(model), batch) == [(distinct(ids), 0, 0)]


def test_padding_does_not_count():
    model, (batch,) = tiny_llama(), batches(1)
    batch["attention_mask"][:, 8:] = 0
    batch["labels"][:, 8:] = -100
    ids = batch["input_ids"][:, :7]
    assert counts(model, adamw(model), batch) == [(distinct(ids), 0, 0)]


def test_a_frozen_embedding_is_not_looked_at():
    model, (batch,) = tiny_lora(), batches(1)
    assert counts(model, adamw(model), batch) == []


def test_looks_at_due_steps_only():
    model, (batch,) = tiny_llama(), batches(1)
    assert counts(model, adamw(model), batch, step=5) == []


def test_an_embedding_without_gradient_is_left_out():
    model, (batch,) = tiny_llama(), batches(1)
    probe, optimizer = MaskedRows(), adamw(model)
    moment = Bench(model, optimizer).moment()
    probe.on_batch(moment, batch)
    probe.before_update(moment)
    optimizer.step()
    assert list(probe.after_update(moment)) == []
