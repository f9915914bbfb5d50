"""Counts by tiles equal those of the whole mask, pair by pair."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from ftlab.probes.attention import counting
from ftlab.probes.attention.counting import Legal, count_row
from ftlab.probes.attention.patterns import FromDocuments, FromTensor
from ftlab.records.attention import FAULTS


@st.composite
def cases(draw):
    """A random mask, and random documents, padding and virtual tokens."""
    length = draw(st.integers(1, 40))
    seed = draw(st.integers(0, 10**6))
    made = np.random.default_rng(seed)
    runs = np.sort(made.integers(-2, 4, length)) if draw(st.booleans()) else None
    numbers = made.integers(-2, 3, length) if runs is None else runs
    dense = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    mask = made.random((length, length)) < dense
    if draw(st.booleans()):
        mask = np.tril(np.ones_like(mask))
    spoiling = made.random(length) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    causal = draw(st.booleans())
    window = draw(st.sampled_from([0, 3, -1]))
    numbers = numbers.astype(np.int32)
    at = np.arange(length)
    return mask, Legal(numbers, numbers, at, causal, spoiling, window)


def by_hand(mask, legal):  # noqa: C901  one pair after the other, on purpose
    """Go through every pair."""
    found = {fault: [] for fault in FAULTS}
    pairs = 0
    for q, query in enumerate(legal.queries):
        for k, key in enumerate(legal.keys):
            if query < 0:
                continue
            seen, same = mask[q, k], query == key
            pairs += int(seen)
            late = legal.causal and k > q and legal.spoiling[k]
            if seen and key == -1:
                found["padding"].append((q, k))
            elif seen and key >= 0 and not same:
                found["other sample"].append((q, k))
            elif seen and same and late:
                found["future"].append((q, k))
            due = same and (not legal.causal or k <= q) and legal.window >= 0
            if legal.causal and legal.window > 0:
                due = due and q - k < legal.window
            if due and not seen:
                found["missing"].append((q, k))
    return pairs, {fault: pairs for fault, pairs in found.items() if pairs}


@settings(max_examples=150, deadline=None)
@given(
    case=cases(), tile=st.sampled_from([3, 8, 2048]), cells=st.sampled_from([4, 256])
)
def test_equal_those_of_every_pair(case, tile, cells):
    mask, legal = case
    values = torch.from_numpy(mask)[None, None]
    pattern = FromTensor(queries=len(mask), keys=len(mask), values=values)
    before, counting.TILE = counting.TILE, tile
    try:
        row = count_row(pattern, 0, legal, kind="full", cells=cells)
    finally:
        counting.TILE = before
    pairs, found = by_hand(mask, legal)
    assert row.pairs == pairs
    assert row.faults == {fault: len(at) for fault, at in found.items()}
    assert row.queries == {f: len({q for q, _ in at}) for f, at in found.items()}
    assert {f: (p.query, p.key) for f, p in row.first.items()} == {
        fault: min(at) for fault, at in found.items()
    }
    cell = row.grid.cell[0]
    for fault, at in found.items():
        wanted = {(q // cell, k // cell) for q, k in at}
        assert set(zip(*np.nonzero(row.grid.faults[fault]), strict=True)) == wanted


def packed(length, documents):
    """Documents of one length that see all before them, those of others too."""
    numbers = (np.arange(length) * documents // length).astype(np.int32)
    whole = np.zeros((1, length), np.int64)
    places = np.arange(length)[None]
    pattern = FromDocuments(queries=length, keys=length, numbers=whole, places=places)
    spoiling = np.ones(length, bool)
    return pattern, Legal(numbers, numbers, np.arange(length), True, spoiling)


@pytest.mark.parametrize("length", [1_000, 4_096, 5_001])
def test_samples_come_near_the_exact_share(length):
    pattern, legal = packed(length, 5)
    exact = count_row(pattern, 0, legal, kind="full")
    estimate = count_row(pattern, 0, legal, kind="full", exact=False)
    assert exact.exact
    assert not estimate.exact or length <= 4 * 256
    assert estimate.illegal == pytest.approx(exact.illegal, abs=0.01)
    assert estimate.pairs == pytest.approx(exact.pairs, rel=0.05)


def test_a_mask_of_32000_is_never_made(monkeypatch):
    """The largest tile bounds the memory: some 4 million pairs."""
    pattern, legal = packed(32_000, 16)
    largest = []
    real = FromDocuments.tile

    def tile(self, row, queries, keys):
        largest.append(len(queries) * len(keys))
        return real(self, row, queries, keys)

    monkeypatch.setattr(FromDocuments, "tile", tile)
    row = count_row(pattern, 0, legal, kind="full", exact=False)
    assert max(largest) <= counting.TILE**2
    assert row.grid.seen.shape == (256, 256)
    assert row.illegal == pytest.approx(1 - 2001 / 32001, abs=0.001)


def test_a_closer_look_says_the_same_of_its_part():
    pattern, legal = packed(1_024, 4)
    part = ((200, 300), (250, 350))
    closer = count_row(pattern, 0, legal, kind="full", part=part).grid
    assert closer.cell == (1, 1)
    assert closer.queries, closer.keys == part
    assert (closer.seen[60:, 10:] > 0)[0, 0]
    assert not closer.seen[:50].any()
    assert closer.faults["other sample"][60, :6].all()
