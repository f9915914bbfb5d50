import bitsandbytes as bnb
import pytest
import torch

from ftlab.probes.tensors import base_norm as module
from ftlab.probes.tensors.base_norm import base_error, base_norm, is_quantized


def linear_4bit(out=24, width=40, *, quant_type="nf4", nested=False):
    torch.manual_seed(0)
    layer = bnb.nn.Linear4bit(width, out, bias=False)
    weight = torch.randn(out, width) * torch.rand(out, 1)
    packed, state = bnb.functional.quantize_4bit(
        weight, blocksize=64, compress_statistics=nested, quant_type=quant_type
    )
    layer.weight = bnb.nn.Params4bit(
        packed, requires_grad=False, quant_state=state, bnb_quantized=True
    )
    return layer


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_plain_weights_are_summed_in_float32(dtype):
    layer = torch.nn.Linear(64, 64)
    layer.weight.data = torch.full((64, 64), 6e4).to(dtype)
    exact = layer.weight.detach().double().norm().item()
    assert base_norm(layer).item() == pytest.approx(exact, rel=1e-5)
    assert not is_quantized(layer)


def test_weights_in_float64_are_summed_as_such():
    layer = torch.nn.Linear(8, 8).double()
    layer.weight.data = torch.full((8, 8), 1e30, dtype=torch.float64)
    norm = base_norm(layer)
    assert norm.dtype == torch.float32
    assert norm.item() == pytest.approx(8e30)


@pytest.mark.parametrize("quant_type", ["nf4", "fp4"])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("shape", [(24, 40), (64, 64), (130, 66)])
@pytest.mark.parametrize("chunk", [1 << 22, 128])
def test_4bit_weights_match_their_dequantisation(
    quant_type, nested, shape, chunk, monkeypatch
):
    monkeypatch.setattr(module, "CHUNK", chunk)
    layer = linear_4bit(*shape, quant_type=quant_type, nested=nested)
    whole = bnb.functional.dequantize_4bit(layer.weight.data, layer.weight.quant_state)
    exact = whole.double().norm().item()
    assert base_norm(layer).item() == pytest.approx(exact, rel=1e-5)
    assert is_quantized(layer)


def test_a_4bit_weight_that_was_repacked_is_not_guessed_at():
    layer = linear_4bit()
    layer.weight.data = layer.weight.data.reshape(-1)[:-8]
    assert base_norm(layer) is None
    layer.weight.quant_state = None
    assert base_norm(layer) is None


@pytest.mark.parametrize("chunk", [1 << 22, 16])
def test_8bit_weights_match_their_rows_scales(chunk, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", chunk)
    torch.manual_seed(0)
    layer = torch.nn.Linear(6, 5, bias=False)
    rows = torch.randint(-127, 128, (5, 6), dtype=torch.int8)
    layer.weight = bnb.nn.Int8Params(rows, requires_grad=False, has_fp16_weights=False)
    layer.weight.SCB = torch.rand(5)
    exact = (rows.double() * layer.weight.SCB.double()[:, None] / 127).norm().item()
    assert base_norm(layer).item() == pytest.approx(exact)
    assert is_quantized(layer)
    layer.weight.SCB = None
    assert base_norm(layer) is None


def test_what_cannot_be_read_is_none():
    assert base_norm(torch.nn.Linear(2, 2, device="meta")) is None
    assert base_norm(torch.nn.ReLU()) is None
    odd = torch.nn.Linear(2, 2)
    odd.weight = torch.nn.Parameter(torch.ones(2, 2).to(torch.float8_e4m3fn), False)
    assert base_norm(odd) is None
    packed = torch.nn.Module()
    packed.qweight = torch.zeros(1)
    assert base_norm(packed) is None
    assert is_quantized(packed)


def lost(weight, quant_type, *, nested):
    """Return the error that is expected, and the true one, without each largest."""
    packed, state = bnb.functional.quantize_4bit(
        weight, blocksize=64, compress_statistics=nested, quant_type=quant_type
    )
    layer = bnb.nn.Linear4bit(weight.shape[1], weight.shape[0], bias=False)
    layer.weight = bnb.nn.Params4bit(
        packed, requires_grad=False, quant_state=state, bnb_quantized=True
    )
    blocks = weight.view(-1, 64)
    rest = torch.ones_like(blocks).scatter(1, blocks.abs().argmax(1, True), 0.0)
    missing = (weight - bnb.functional.dequantize_4bit(packed, state)).view(-1, 64)
    true = (missing * rest).norm() / (blocks * rest).norm()
    return base_error(layer).item(), true.item()


@pytest.mark.parametrize("quant_type", ["nf4", "fp4"])
@pytest.mark.parametrize("nested", [False, True])
def test_the_error_of_weights_without_outliers_is_as_expected(quant_type, nested):
    generator = torch.Generator().manual_seed(0)
    for weight in (
        torch.randn(128, 256, generator=generator),
        torch.rand(128, 256, generator=generator) - 0.5,
    ):
        expected, true = lost(weight, quant_type, nested=nested)
        assert expected == pytest.approx(true, rel=0.06)


def test_beside_outliers_next_to_nothing_is_left():
    weight = torch.randn(128, 256, generator=torch.Generator().manual_seed(0))
    weight[:, ::64] = 50.0
    expected, true = lost(weight, "nf4", nested=True)
    assert 0.6 < expected <= 1
    assert 0.6 < true <= 1.1


def test_only_weights_in_4_bits_have_such_an_error():
    assert base_error(torch.nn.Linear(4, 4)) is None
