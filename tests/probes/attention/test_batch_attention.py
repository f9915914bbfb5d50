"""The probe looks once, at what is worth it, and changes nothing."""

import torch

import ftlab
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
            model(**each).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
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
    assert "DAT050" in [finding.code for finding in watch.findings]


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
        model(**packed).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert all(torch.equal(each, after[n]) for n, each in model.state_dict().items())
