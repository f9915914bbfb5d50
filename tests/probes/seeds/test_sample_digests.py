"""Rows in numbers: the same row has the same ones, and nearly only the same row."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from ftlab.probes.seeds import sample_digests
from ftlab.probes.seeds.sample_digests import SAMPLED, SampleDigests, digests
from tests.probes.moments_of import Bench

ROW = st.lists(st.integers(0, 200_000), min_size=1, max_size=12)


def of(rows, **fields):
    return digests({"input_ids": torch.tensor(rows), **fields})[0].tolist()


@given(ROW, ROW)
@settings(max_examples=200, deadline=None)
def test_equal_rows_have_equal_digests_and_others_have_others(one, other):
    (first,), (second,) = of([one]), of([other])
    assert (first == second) == (one == other)
    assert first == int(first) < 1 << 24


def test_collisions_are_as_rare_as_of_random_numbers(monkeypatch):
    count = 20_000
    monkeypatch.setattr(sample_digests, "ROWS", count)
    rows = torch.arange(count)[:, None].repeat(1, 3)
    distinct = len(set(digests({"input_ids": rows})[0].tolist()))
    expected = count * count / 2 / (1 << 24)
    assert count - distinct < 4 * expected


def test_padding_changes_nothing_on_either_side():
    row = [7, 8, 9]
    (bare,) = of([row])
    for left, right in ((0, 2), (3, 0), (1, 1)):
        ids = [[0] * left + row + [0] * right]
        mask = torch.tensor([[0] * left + [1] * 3 + [0] * right])
        assert of(ids, attention_mask=mask) == [bare]
    assert of([[7, 8, 9, 0]]) != [bare]


@pytest.mark.parametrize(
    "field",
    [
        {"labels": torch.tensor([[1, 2], [3, 5]])},
        {"labels": torch.tensor([0, 1])},
        {"pixel_values": torch.full((2, 3, 4, 4), 0.25)},
        {"flags": torch.tensor([[True, False], [True, True]])},
    ],
)
def test_other_inputs_have_a_digest_of_their_own(field):
    ids = torch.tensor([[1, 2], [3, 4]])
    (name, values), *_ = field.items()
    changed = values.clone()
    changed.view(2, -1)[1, 0] = (
        ~changed.view(2, -1)[1, 0]
        if values.dtype == (torch.bool)
        else changed.view(2, -1)[1, 0] + 1
    )
    one, other = (digests({"input_ids": ids, name: v}) for v in (values, changed))
    assert torch.equal(one[0], other[0])
    assert (one[1] == other[1]).tolist() == [True, False]
    renamed = digests({"input_ids": ids, "another": values})
    assert not torch.equal(one[1], renamed[1])


def test_of_long_rows_of_floats_a_sample_is_read():
    values = torch.zeros(1, 4 * SAMPLED)
    before = digests({"pixel_values": values})
    values[0, 4] = 1.0
    assert not torch.equal(before, digests({"pixel_values": values}))


def test_of_rows_that_no_text_fills_a_sample_is_read(monkeypatch):
    monkeypatch.setattr(sample_digests, "WIDEST", 4)
    one, other = torch.zeros(2, 1, 16, dtype=torch.uint8)
    other[0, 4] = 1
    assert digests({"frames": one})[1] != digests({"frames": other})[1]
    other[0, 4], other[0, 5] = 0, 1
    assert digests({"frames": one})[1] == digests({"frames": other})[1]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"input_ids": torch.tensor(5)},
        {"input_ids": torch.zeros(0, 4, dtype=torch.int64)},
        {"signal": torch.zeros(2, 2, dtype=torch.complex64)},
    ],
)
def test_what_does_not_go_by_row_has_no_digest(fields):
    assert digests(fields).shape == (2, 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_any_type_is_read(dtype):
    values = torch.tensor([[0.5, 1.5]], dtype=dtype)
    assert digests({"inputs": values}).isfinite().all()


def test_rows_of_a_step_are_numbered_through_its_micro_batches():
    probe, bench = SampleDigests(), Bench(torch.nn.ReLU())
    batch = {"input_ids": torch.tensor([[1, 2], [3, 4]])}
    places = []
    for step, count in ((0, 2), (1, 1)):
        for _ in range(count):
            (reading,) = probe.on_batch(bench.moment(step), batch)
            (block,) = reading.finish(reading.values.numpy())
            assert block.step == step
            places.append(block.ids.tolist())
            expected = digests(batch)
            assert np.array_equal(block.values["ids"], expected[0].numpy())
            assert np.array_equal(block.values["others"], expected[1].numpy())
    assert places[0] == places[2] != places[1]
