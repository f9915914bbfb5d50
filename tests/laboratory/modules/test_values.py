"""Statistics of weights are those of a plain computation."""

import pytest
import torch
from bitsandbytes.functional import dequantize_4bit
from torch import nn

from ftlab.faults.builders.tiny import llama
from ftlab.laboratory.modules import values
from ftlab.laboratory.modules.values import values_of
from tests.models import tiny_4bit


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("chunk", [7, 2**22])
def test_statistics_are_those_of_torch(dtype, chunk, monkeypatch):
    monkeypatch.setattr(values, "CHUNK", chunk)
    torch.manual_seed(0)
    module = nn.Linear(33, 17, bias=False).to(dtype)
    with torch.no_grad():
        module.weight[0, :5] = 0
        module.weight[1, 0], module.weight[1, 1] = torch.nan, torch.inf
    (found,) = values_of(module, "")
    fine = module.weight.detach().double().flatten()
    fine = fine[fine.isfinite()]
    assert found.mean == pytest.approx(fine.mean().item(), abs=1e-7)
    assert found.std == pytest.approx(fine.std(correction=0).item(), rel=1e-5)
    assert (found.low, found.high) == (fine.min(), fine.max())
    assert found.non_finite == 2
    assert found.zeros == 5 / (33 * 17)
    assert sum(found.counts) == len(fine)
    expected = torch.histc(fine.float(), values.BINS)
    assert list(found.counts) == expected.int().tolist()


def test_four_bits_are_read_as_what_they_stand_for(tmp_path):
    model = tiny_4bit(tmp_path)
    (found,) = values_of(model, "model.layers.0.self_attn.q_proj")
    weight = model.model.layers[0].self_attn.q_proj.weight
    whole = dequantize_4bit(weight.data, weight.quant_state)
    assert found.shape == (128, 128)
    assert found.read_as == "dequantised to bfloat16"
    assert found.high == whole.max()


def test_what_has_no_values_says_so():
    with torch.device("meta"):
        model = llama()
    (found,) = values_of(model, "lm_head")
    assert found.missing == "it has no values here: it is on the meta device"
    assert found.counts == ()


def test_a_constant_and_an_empty_tensor_are_read():
    (ones,) = values_of(nn.RMSNorm(8), "")
    assert (ones.mean, ones.std, sum(ones.counts)) == (1.0, 0.0, 8)
    module = nn.Module()
    module.empty = nn.Parameter(torch.zeros(0, 3))
    module.bad = nn.Parameter(torch.full((3,), torch.nan))
    empty, bad = values_of(module, "")
    assert empty.missing == "0 elements are not read"
    assert bad.non_finite == 3


def test_a_module_without_tensors_of_its_own_shows_those_within():
    found = values_of(llama(), "model.layers.0.mlp")
    assert [each.name for each in found] == [
        "gate_proj.weight",
        "up_proj.weight",
        "down_proj.weight",
    ]
