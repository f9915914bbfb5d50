"""Casts that autocast keeps over an update, and what looking for them leaves alone."""

import contextlib

import pytest
import torch

from ftlab.probes.precision.stale_casts import StaleCasts
from tests.models import batches, tiny_lora
from tests.probes.moments_of import Bench, finished, rows_of


def autocast(**settings):
    return torch.autocast("cpu", dtype=torch.bfloat16, **settings)


def train(around, *, inside=autocast, steps=3, watched=True):
    """Train with a learning rate that bf16 can see; returns stale marks and weights."""
    model = tiny_lora()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=10.0)
    bench, probe, found = Bench(model, optimizer), StaleCasts(), []
    with around():
        for batch in batches(steps):
            with torch.no_grad():
                if watched:
                    readings = list(probe.on_batch(bench.moment(), {}))
                    found.append(rows_of(finished(readings)))
            with inside():
                loss = model(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                if watched:
                    probe.after_update(bench.moment())
    names = {row: name for (_, name), row in bench.names.items()}
    marks = [{names[row]: v["stale"] for row, v in step.items()} for step in found]
    return marks, [p.detach().clone() for p in trained]


@pytest.mark.parametrize("enabled", [True, False])
def test_casts_within_one_context_are_stale_after_an_update(enabled):
    marks, _ = train(lambda: autocast(enabled=enabled))
    assert marks[0] == {}
    assert marks[1]
    assert any(marks[1].values())
    assert any(marks[2].values())


@pytest.mark.parametrize(
    "around", [contextlib.nullcontext, lambda: autocast(cache_enabled=False)]
)
def test_nothing_is_compared_where_nothing_is_kept(around):
    inside = autocast if around is contextlib.nullcontext else around
    assert train(around, inside=inside)[0] == [{}, {}, {}]


def test_weights_that_did_not_move_are_not_stale():
    model = tiny_lora()
    bench, probe = Bench(model), StaleCasts()
    with autocast():
        model(**next(batches(1)))
        probe.after_update(bench.moment())
        rows = rows_of(finished(probe.on_batch(bench.moment(), {})))
    assert rows
    assert not any(row["stale"] for row in rows.values())


@pytest.mark.parametrize("around", [autocast, contextlib.nullcontext])
def test_what_is_trained_stays_the_same_bit_for_bit(around):
    _, plain = train(around, watched=False)
    _, watched = train(around)
    for one, other in zip(plain, watched, strict=True):
        assert torch.equal(one, other)


def test_a_store_that_was_cleared_holds_no_mark():
    model = tiny_lora()
    bench, probe = Bench(model), StaleCasts()
    with autocast():
        probe.after_update(bench.moment())
        torch.clear_autocast_cache()
        assert list(probe.on_batch(bench.moment(), {})) == []
