import math

import numpy as np
import torch

from ftlab.replay.stops import histogram
from ftlab.replay.stops.histogram import Histogram


def test_counts_every_finite_value_once():
    values = torch.randn(4, 50, generator=torch.Generator().manual_seed(0))
    found = Histogram.of(values)
    assert sum(found.counts) == found.total == 200
    expected, edges = np.histogram(values.double().numpy(), bins=histogram.BINS)
    assert found.counts == tuple(expected)
    assert np.allclose(found.edges, edges)


def test_counts_what_is_not_finite_apart():
    values = torch.tensor([1.0, 2.0, math.nan, math.inf, -math.inf])
    found = Histogram.of(values.to(torch.bfloat16))
    assert (found.nans, found.infs, sum(found.counts)) == (1, 2, 2)
    assert found.headline() == "5 values, 1 NaN, 2 Inf"


def test_values_of_many_sizes_are_counted_by_powers_of_ten():
    values = torch.tensor([-1e-3, 0.0, 2e-3, 5.0, 3e8, 2e30])
    found = Histogram.of(values)
    assert found.decades
    assert sum(found.counts) == 6
    assert len(found.edges) <= 2 * (histogram.DECADES + 1)
    assert found.edges[0] < 0 < found.edges[-1]


def test_the_ends_of_float64_are_counted_too():
    found = Histogram.of(torch.tensor([1.0, 1.0, 1.0, 1.7e308], dtype=torch.float64))
    assert sum(found.counts) == 4
    assert all(map(math.isfinite, found.edges))


def test_a_large_tensor_is_sampled_but_its_nans_are_all_counted(monkeypatch):
    monkeypatch.setattr(histogram, "MOST", 100)
    values = torch.zeros(1000)
    values[999] = math.nan
    found = Histogram.of(values)
    assert (found.every, found.nans, sum(found.counts)) == (10, 1, 100)
    assert "one in 10 counted" in found.headline()


def test_a_tensor_without_finite_values_has_no_bars():
    assert repr(Histogram.of(torch.full((3,), math.nan))) == "3 values, 3 NaN"


def test_equal_values_stand_in_one_bar():
    assert Histogram.of(torch.zeros(7)).counts == (7,)


def test_integers_and_nothing_have_no_histogram():
    assert Histogram.of(torch.arange(3)) is None
    assert Histogram.of(torch.zeros(0)) is None
    assert Histogram.of(None) is None


def test_looking_changes_neither_the_tensor_nor_its_graph():
    values = torch.ones(3, requires_grad=True)
    made = values * 2
    version = made._version
    Histogram.of(made)
    assert made._version == version
    assert made.requires_grad
