"""Norms against a second, dumber computation."""

import pytest
import torch

from ftlab.probes.tensors.reductions import CACHED, SMALL, Alike, l2_and_max, l2_norms


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


def max_magnitudes(tensors):
    return l2_and_max(tensors)[1]


def l2_beside_max(tensors):
    return l2_and_max(tensors)[0]


EVERY = [l2_norms, l2_beside_max, max_magnitudes]


@pytest.mark.parametrize(
    ("function", "reduce"),
    [
        (l2_norms, lambda values: sum(v * v for v in values) ** 0.5),
        (l2_beside_max, lambda values: sum(v * v for v in values) ** 0.5),
        (max_magnitudes, lambda values: max(values, default=0.0)),
    ],
)
def test_every_kind_of_tensor_is_reduced(function, reduce):
    found = function(assorted())
    expected = [dumb(tensor, reduce) for tensor in assorted()]
    assert found.dtype == torch.float32
    assert found.tolist() == pytest.approx(expected, rel=1e-5, nan_ok=True)


@pytest.mark.parametrize("function", EVERY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_non_finite_values_are_not_hidden(function, dtype):
    nan = torch.tensor([1.0, torch.nan, 5.0], dtype=dtype)
    infinite = torch.tensor([1.0, -torch.inf, 5.0], dtype=dtype)
    found = function([nan, infinite, torch.zeros(3, dtype=dtype)])
    assert found.isnan().tolist() == [True, False, False]
    assert found.isinf().tolist() == [False, True, False]


@pytest.mark.parametrize("function", EVERY)
def test_nothing_gives_nothing(function):
    assert function([]).tolist() == []
    assert function([None, None]).isnan().all()


@pytest.mark.parametrize("value", [1e25, 1e-25])
def test_squares_beyond_float32_are_summed(value):
    found = l2_beside_max([torch.full((SMALL,), value), torch.ones(1)])
    assert found.tolist() == pytest.approx([SMALL**0.5 * value, 1.0], rel=1e-6, abs=0)


@pytest.mark.parametrize(
    "change",
    [
        lambda grads: grads[0].neg_(),
        lambda grads: grads.__setitem__(0, None),
        lambda grads: grads.__setitem__(0, grads[0].to_sparse()),
        lambda grads: grads.__setitem__(0, grads[0].to("meta")),
        lambda grads: grads.__setitem__(0, grads[0].bfloat16()),
        lambda grads: grads.__setitem__(0, torch.ones(2, dtype=torch.complex64)),
    ],
)
def test_the_same_few_are_reduced_as_any_others(change):
    grads = [torch.tensor([3.0, -4.0]), torch.full((2, 5), torch.nan), torch.ones(3)]
    alike = Alike(grads)
    change(grads)
    torch.testing.assert_close(
        alike.l2_and_max(grads), l2_and_max(grads), equal_nan=True
    )


def test_tensors_beyond_one_cache_keep_their_places():
    sizes = [3, CACHED // 4, 5, 2 * CACHED // 4, 7, 11]
    tensors = [torch.full((n,), float(i + 1)) for i, n in enumerate(sizes)]
    l2, top = l2_and_max(tensors)
    assert top.tolist() == [1, 2, 3, 4, 5, 6]
    assert l2.tolist() == pytest.approx([(i + 1) * n**0.5 for i, n in enumerate(sizes)])


def test_a_default_device_of_the_users_changes_nothing():
    with torch.device("meta"):
        found = l2_and_max([torch.ones(4, device="cpu"), None])
    assert found.device.type == "cpu"


@pytest.mark.parametrize("norms", EVERY)
def test_what_has_no_values_has_no_norm(norms):
    offloaded = torch.empty(3, device="meta")
    assert norms([torch.ones(4), offloaded]).isnan().tolist() == [False, True]
    assert norms([offloaded]).isnan().all()
