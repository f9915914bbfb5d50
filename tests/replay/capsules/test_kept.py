"""Small tensors are put back, large ones are watched."""

import pytest
import torch

from ftlab.replay.capsules.kept import (
    COPIED_ELEMENTS,
    Copies,
    Grouped,
    KeptTensor,
    differ,
    sample,
)
from ftlab.replay.torch_private import bytes_of


def test_a_small_tensor_is_put_back_in_place():
    tensor = torch.arange(3.0)
    kept = KeptTensor.of("x", tensor)
    tensor.mul_(5)
    assert kept.changed
    assert kept.obstacle() is None
    kept.restore()
    assert tensor.tolist() == [0, 1, 2]
    assert not kept.changed
    tensor.zero_()
    kept.restore()
    assert tensor.tolist() == [0, 1, 2]


def test_a_large_tensor_that_changed_is_an_obstacle():
    tensor = torch.zeros(COPIED_ELEMENTS + 1)
    kept = KeptTensor.of("the batch's 'pixels'", tensor)
    assert kept.obstacle() is None
    tensor.add_(1)
    assert "'pixels' was changed in place" in str(kept.obstacle())


def test_a_copy_can_be_made_later_but_not_too_late():
    tensor = torch.zeros(COPIED_ELEMENTS + 1)
    kept = KeptTensor.of("x", tensor)
    kept.copy_now()
    tensor.add_(1)
    assert kept.obstacle() is None
    late = KeptTensor.of("x", tensor)
    tensor.add_(1)
    late.copy_now()
    assert late.obstacle() is not None


def test_copies_are_those_of_one_by_one():
    large = torch.randn(COPIED_ELEMENTS + 1)
    tensors = [
        torch.randn(3, 4).t(),
        torch.randn(2, dtype=torch.float64),
        large,
        torch.tensor([1.0, 2.0]).to_sparse(),
        torch.ones(()),
        torch.nn.Parameter(torch.randn(5)),
    ]
    before = [tensor.detach().clone() for tensor in tensors]
    kept = Copies(Grouped(tensors))
    with torch.no_grad():
        for tensor in tensors:
            tensor.zero_()
    assert kept.nbytes == sum(map(bytes_of, before))
    for copy, expected in zip(kept.values, before, strict=True):
        assert torch.equal(copy.to_dense(), expected.to_dense())
        assert not copy.requires_grad


@pytest.mark.parametrize(
    "data",
    [torch.ones(3, dtype=torch.float64), torch.ones(2, 3), torch.ones(1 << 17)],
)
def test_other_memory_under_a_tensor_that_was_grouped_is_copied_as_it_is(data):
    tensors = [torch.nn.Parameter(torch.zeros(3)) for _ in range(3)]
    grouped = Grouped(tensors)
    Copies(grouped)
    tensors[1].data = data
    copies = Copies(grouped).values
    assert torch.equal(copies[1], data)
    assert [each.dtype for each in copies] == [each.dtype for each in tensors]
    assert copies[2].tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_a_sample_tells_of_a_write_that_no_version_counts(dtype):
    weight = torch.full((40,), torch.nan, dtype=dtype)
    before = sample(weight)
    assert not differ(sample(weight), before)
    weight.data[0] = 1.0
    assert differ(sample(weight), before)
