"""Norms against a second, dumber computation."""

import pytest
import torch

from ftlab.probes.reductions import l2_norms, max_magnitudes


def assorted():
    torch.manual_seed(0)
    sparse = torch.sparse_coo_tensor([[0, 0, 2]], [1.0, 2.0, -4.0], (5,))
    return [
        torch.randn(7, 3),
        None,
        torch.randn(4, dtype=torch.bfloat16),
        torch.randn(5, 6).t(),
        torch.zeros(0),
        sparse,
        torch.full((9,), 6e4, dtype=torch.float16),
        torch.randn(2, dtype=torch.float64),
        torch.randn(3, dtype=torch.complex64),
    ]


def dumb(tensor, reduce):
    if tensor is None:
        return torch.nan
    values = tensor.to_dense().abs().double().flatten().tolist()
    return reduce(values)


@pytest.mark.parametrize(
    ("function", "reduce"),
    [
        (l2_norms, lambda values: sum(v * v for v in values) ** 0.5),
        (max_magnitudes, lambda values: max(values, default=0.0)),
    ],
)
def test_every_kind_of_tensor_is_reduced(function, reduce):
    found = function(assorted())
    expected = [dumb(tensor, reduce) for tensor in assorted()]
    assert found.dtype == torch.float32
    assert found.tolist() == pytest.approx(expected, rel=1e-5, nan_ok=True)


@pytest.mark.parametrize("function", [l2_norms, max_magnitudes])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_non_finite_values_are_not_hidden(function, dtype):
    nan = torch.tensor([1.0, torch.nan, 5.0], dtype=dtype)
    infinite = torch.tensor([1.0, -torch.inf, 5.0], dtype=dtype)
    found = function([nan, infinite, torch.zeros(3, dtype=dtype)])
    assert found.isnan().tolist() == [True, False, False]
    assert found.isinf().tolist() == [False, True, False]


@pytest.mark.parametrize("function", [l2_norms, max_magnitudes])
def test_nothing_gives_nothing(function):
    assert function([]).tolist() == []
    assert function([None, None]).isnan().all()
