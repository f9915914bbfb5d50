"""Tensors in a file."""

import pytest
import torch

from ftlab.executions.spool import Spool, identity_of


@pytest.fixture
def spool():
    with Spool() as made:
        yield made


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).bfloat16().view(2, 3),
        torch.arange(6).view(2, 3).T,
        torch.tensor([True, False]),
        torch.tensor(1.5, dtype=torch.float64),
        torch.zeros(0, 3),
        torch.tensor([1 + 2j]),
    ],
    ids=["bf16", "transposed", "mask", "number", "empty", "complex"],
)
def test_a_tensor_comes_back_as_it_was(spool, tensor):
    spool.put(torch.ones(3, dtype=torch.uint8))
    back = spool.get(spool.put(tensor))
    assert back.dtype == tensor.dtype
    assert torch.equal(back, tensor)


def test_what_is_changed_later_is_kept_as_it_was(spool):
    tensor = torch.ones(2, requires_grad=True)
    kept = spool.put(tensor)
    assert spool.put(tensor.view_as(tensor)) == kept
    with torch.no_grad():
        tensor.mul_(2)
    assert spool.put(tensor) != kept
    assert spool.get(kept).tolist() == [1, 1]
    assert not spool.get(kept).requires_grad


def test_memory_that_is_used_again_is_no_tensor_that_was_put(spool):
    kept = []
    for value in range(100):
        kept.append(spool.put(torch.full((300,), float(value))))
    assert [spool.get(each)[0].item() for each in kept] == list(range(100))


def test_sparse_tensors_are_told_apart():
    sparse = torch.eye(2).to_sparse()
    assert identity_of(sparse) == identity_of(sparse)
    assert identity_of(sparse) != identity_of(torch.ones(1).to_sparse())


def test_the_file_is_gone_with_the_spool():
    with Spool() as spool:
        kept = spool.put(torch.ones(1))
    with pytest.raises(ValueError, match="closed file"):
        spool.get(kept)
