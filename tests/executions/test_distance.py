"""Distances of cells."""

import pytest
import torch

from ftlab.executions.distance import apart, size, unit

FAR = torch.finfo(torch.float32).min
INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("shape", [(7, 3), (3, 70_000), (90_000, 2), (2, 0), (0, 4)])
def test_pieces_make_the_distance_of_the_whole(shape):
    a, b = torch.randn(shape), torch.randn(shape).bfloat16()
    found = apart(a, b)
    assert found.dtype == torch.float64
    assert torch.allclose(found, (a.double() - b.double()).norm(dim=-1))
    assert torch.allclose(size(a), a.double().norm(dim=-1))


def test_what_is_not_finite_on_both_sides_is_the_same():
    a = torch.tensor([[INF, 1], [NAN, 1], [INF, 0], [-INF, 0], [NAN, 0]])
    b = torch.tensor([[INF, 3], [NAN, 3], [0, 0], [INF, 0], [1, 0]])
    assert apart(a, b).tolist() == [2, 2, INF, INF, INF]
    assert size(a).tolist() == [1, 1, 0, 0, 0]


def test_the_nevers_of_masks_are_the_same_and_small():
    never = torch.tensor([[FAR, 0.0]])
    assert apart(never, torch.tensor([[-INF, 0.0]]), mask=True).item() == 0
    let_through = apart(never, torch.zeros(1, 2), mask=True)
    assert let_through == size(never, mask=True) == 6e4


def test_storing_a_value_rounds_by_its_dtype_and_ids_not_at_all():
    x = torch.rand(100_000, dtype=torch.float64) + 1
    error = ((x.bfloat16().double() - x) / x).square().mean().sqrt()
    assert unit(torch.bfloat16) / 2 < error < unit(torch.bfloat16)
    assert unit(torch.int64) == 0


def test_complex_values_have_both_parts():
    a, b = torch.tensor([[1 + 1j, 2j]]), torch.tensor([[1 + 1j, 2 + 2j]])
    assert apart(a, b).item() == pytest.approx(2)
    assert size(a).item() == pytest.approx(6**0.5)
