import pytest
import torch

from ftlab.probes.tensors.weight_sample import SAMPLE, sample_key, sample_of, strided
from tests.models import tiny_4bit


def test_a_small_weight_is_taken_whole():
    weight = torch.arange(6.0).reshape(2, 3)
    assert sample_of(weight).tolist() == [0, 1, 2, 3, 4, 5]


def test_a_sample_is_a_copy():
    weight = torch.zeros(4)
    sample = sample_of(weight)
    weight.data.add_(1)
    assert sample.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("shape", [(256, 256), (1000, 64), (3, 7777)])
def test_a_large_weight_is_sampled_over_all_rows_and_columns(shape):
    indices = strided(torch.arange(shape[0] * shape[1]), SAMPLE)
    assert SAMPLE / 2 < len(indices) <= SAMPLE
    rows, columns = indices // shape[1], indices % shape[1]
    assert len(columns.unique()) > min(shape[1], SAMPLE) // 4
    assert int(rows.max()) > shape[0] * 0.6


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_samples_are_float32(dtype):
    assert sample_of(torch.ones(3, dtype=dtype)).dtype is torch.float32


@pytest.mark.parametrize(
    "weight",
    [
        torch.empty(3, device="meta"),
        torch.empty(0),
        torch.ones(4, 4).T[:, 1:],
        torch.ones(3, dtype=torch.int8),
    ],
    ids=["meta", "empty", "strided", "bytes"],
)
def test_what_cannot_be_sampled_has_no_key(weight):
    assert sample_key(weight) is None


def test_a_4bit_weight_is_sampled_as_bytes_and_scales(tmp_path):
    model = tiny_4bit(tmp_path)
    weight = model.model.layers[0].self_attn.q_proj.weight
    key, sample = sample_key(weight), sample_of(weight)
    assert key is not None
    count = len(strided(weight.data.view(-1), SAMPLE))
    assert len(sample) > count
    assert torch.equal(sample[:count], sample[:count].round())
    weight.quant_state.packing_format_for_cpu = True
    assert sample_key(weight) != key
