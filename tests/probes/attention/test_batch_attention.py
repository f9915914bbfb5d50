"""The probe looks once, at what is worth it, and changes nothing."""

from types import SimpleNamespace

import pytest
import torch

import ftlab
from ftlab.probes.attention.batch_attention import BatchAttention
from ftlab.records.finding import Place
from tests.models import update
from tests.probes.attention import tiny

POSITIONS = torch.cat([torch.arange(n) for n in (10, 6, 8)])[None]


def batch(**more):
    made = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 60, (1, 24), generator=made)
    return {"input_ids": ids, "labels": ids, **more}


def watched(folder, *batches, model=None):
    """Train on some batches; return what was written of their attention."""
    torch.manual_seed(0)
    model = tiny.llama() if model is None else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ftlab.watch(model, optimizer, run_dir=folder) as watch:
        for each in batches:
            update(model(**each).loss, optimizer)
    events = [event for event in watch.run.events if event.kind == "attention"]
    return events, watch, model


def test_ones_over_a_packed_row(tmp_path):
    ones = torch.ones(1, 24, dtype=torch.long)
    packed = batch(position_ids=POSITIONS, attention_mask=ones, use_cache=False)
    events, watch, _ = watched(tmp_path / "run", packed, packed)
    (event,) = events
    (place,) = event.detail["places"]
    assert (place["fault"], place["query"], place["key"]) == ("other sample", 10, 0)
    assert place["share"] == round(188 / 300, 6)
    assert "DAT007" in [finding.code for finding in watch.findings]


def test_another_set_of_arguments_is_looked_at(tmp_path):
    apart = batch(position_ids=POSITIONS, use_cache=False)
    events, _, _ = watched(tmp_path / "run", batch(), apart, batch(), apart)
    assert [event.step for event in events] == [0, 1]
    assert not any(event.detail["places"] for event in events)


def test_nothing_is_run_where_nothing_can_be_wrong(tmp_path, monkeypatch):
    from ftlab.probes.attention import batch_attention

    monkeypatch.setattr(batch_attention, "masks_of", None)
    (event,), _, _ = watched(tmp_path / "run", batch())
    assert event.detail == {"rows": 1, "places": []}


def test_what_cannot_be_read_is_left_alone(tmp_path, monkeypatch):
    from ftlab.probes.attention import batch_attention

    monkeypatch.setattr(batch_attention, "masks_of", None)
    packed = batch(position_ids=POSITIONS)
    events, _, _ = watched(tmp_path / "run", packed, packed)
    assert events == []


def test_training_stays_the_same_bit_for_bit(tmp_path):
    packed = batch(position_ids=POSITIONS, use_cache=False)
    model = tiny.gpt2(resid_pdrop=0.2)
    state = {name: each.clone() for name, each in model.state_dict().items()}
    events, _, _ = watched(tmp_path / "run", packed, packed, model=model)
    assert len(events) == 1
    after = {name: each.clone() for name, each in model.state_dict().items()}
    model.load_state_dict(state)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(0)
    for _ in range(2):
        update(model(**packed).loss, optimizer)
    assert all(torch.equal(each, after[n]) for n, each in model.state_dict().items())


def test_positions_that_count_padding_are_written_down(tmp_path):
    mask = torch.ones(1, 24, dtype=torch.long)
    mask[0, :7] = 0
    given = batch(attention_mask=mask)
    (event,), watch, _ = watched(tmp_path / "run", given, model=tiny.gpt2())
    assert event.detail["shifts"] == [
        {"row": 0, "token": 7, "by": 7, "reason": "padding"}
    ]
    assert "DAT007" in [finding.code for finding in watch.findings]


def test_rows_beyond_the_positions_are_looked_at_in_any_step(tmp_path):
    short = {name: each[:, :16] for name, each in batch().items()}
    model = tiny.llama(max_position_embeddings=20)
    events, watch, _ = watched(tmp_path / "run", short, batch(), model=model)
    assert [event.step for event in events] == [0, 1]
    assert events[1].detail["beyond"]["token"] == 20
    assert "DAT007" in [finding.code for finding in watch.findings]


def test_a_table_that_is_too_short_is_told_of_though_it_raises(tmp_path):
    torch.manual_seed(0)
    model = tiny.gpt2(n_positions=16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = ftlab.watch(model, optimizer, run_dir=tmp_path / "run")
    with pytest.raises(IndexError), watch:
        model(**batch())
    (finding,) = [each for each in watch.findings if each.code == "DAT007"]
    assert finding.place == Place("token", "16 of sample 0")


def test_rows_as_long_as_the_positions_are_within(tmp_path):
    model = tiny.llama(max_position_embeddings=24)
    events, _, _ = watched(tmp_path / "run", batch(), model=model)
    assert not any("beyond" in event.detail for event in events)


def test_ids_of_other_shapes_do_no_harm():
    probe, moment = (
        BatchAttention(),
        SimpleNamespace(
            step=0, subject=SimpleNamespace(model=tiny.llama(max_position_embeddings=4))
        ),
    )
    ids = torch.ones(2, 8)
    for odd in (None, [[1] * 8], ids, ids[0].long(), ids[:0].long(), ids[0, 0].long()):
        assert probe.on_batch(moment, {"input_ids": odd}) == ()
        assert probe.on_batch(moment, {"input_ids": odd, "labels": None}) == ()
