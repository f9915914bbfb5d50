"""Tests of computing with small tensors in NumPy."""

import numpy as np
import pytest
import torch

from ftlab.probes.seeds import sample_digests
from ftlab.probes.tensors.host import as_array, as_tensor
from ftlab.probes.tokens import batch_stats

FIELDS = {
    "input_ids": torch.tensor([[3, 9, 4, 0, 0], [0, 7, 7, 1, 2]]),
    "attention_mask": torch.tensor([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1]]),
    "labels": torch.tensor([[-100, 9, 4, -100, -100], [-100, -100, 7, 1, -5]]),
    "pixel_values": torch.linspace(-1.0, 1.0, 12).view(2, 6),
}


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.float64])
def test_an_array_is_the_memory_of_its_tensor(dtype):
    tensor = torch.zeros(3, dtype=dtype)
    array = as_array(tensor)
    array[1] = 1
    assert isinstance(array, np.ndarray)
    assert tensor.tolist() == [0, 1, 0]
    assert torch.equal(as_tensor(array), tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(2, dtype=torch.bfloat16),
        torch.ones(2, device="meta"),
        torch.ones(2).to_sparse(),
        torch.nn.Parameter(torch.ones(2)),
    ],
    ids=["bfloat16", "meta", "sparse", "of another class"],
)
def test_what_has_no_plain_memory_stays_a_tensor(tensor):
    assert isinstance(as_array(tensor), torch.Tensor)
    assert not as_array(tensor).requires_grad


def test_numbers_of_a_batch_are_the_same_on_any_device(monkeypatch):
    here = sample_digests.digests(FIELDS)
    stats = batch_stats.reduced(FIELDS)[0]
    for module in (sample_digests, batch_stats):
        monkeypatch.setattr(module, "as_array", lambda tensor: tensor)
    assert torch.equal(sample_digests.digests(FIELDS), here)
    assert torch.equal(batch_stats.reduced(FIELDS)[0], stats)
