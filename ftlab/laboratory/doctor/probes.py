"""Small runs that show whether something works here."""

import contextlib
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ftlab.records.diagnosis import Diagnosis, Health

CLOSE = {torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.float16: 4e-3}
"""What may differ from float64: a few times the spacing of the dtype's numbers."""

FOUR_BITS = 0.25
"""Relative error of 4-bit weights beyond which something else is wrong: rounding to NF4
leaves 0.09 of normal values."""


def computing() -> Iterator[Diagnosis]:
    """Compute a little in each dtype, attention back end and quantisation."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        name = f"{str(dtype).removeprefix('torch.')} on {device}"
        yield _tried(name, partial(_matmul, dtype, device))
    for backend in (
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
    ):
        name = backend.name.lower().replace("_", " ")
        yield _tried(name, partial(_attention, backend, device), "noted")
    if importlib.util.find_spec("flash_attn"):
        yield _tried("flash_attn package", partial(_flash, device))
    if importlib.util.find_spec("bitsandbytes"):
        yield _tried("4-bit layers", partial(_four_bit, device, 64))
    else:
        says = "bitsandbytes is not installed"
        yield Diagnosis("computing", "4-bit layers", "not checked", says)


def _tried(
    what: str, run: Callable[[], tuple[float, float]], otherwise: Health = "fails"
) -> Diagnosis:
    """Run it; it returns an error and what that may be."""
    try:
        error, limit = run()
    except Exception as raised:  # noqa: BLE001  whatever a back end raises
        said = str(raised).partition("\n")[0][:160]
        says = f"does not run here: {type(raised).__name__}: {said}"
        return Diagnosis("computing", what, otherwise, says)
    says = f"relative error {error:.1e}, at most {limit:.0e} is usual"
    return Diagnosis("computing", what, "works" if error <= limit else "fails", says)


def _matmul(dtype: torch.dtype, device: str) -> tuple[float, float]:
    one, two = _drawn(64, 64), _drawn(64, 64)
    found = one.to(device, dtype) @ two.to(device, dtype)
    return _error(found, one @ two), CLOSE[dtype]


def _attention(backend: SDPBackend, device: str) -> tuple[float, float]:
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    q, k, v = (_drawn(1, 2, 32, 64) for _ in range(3))
    with sdpa_kernel(backend):
        found = _attend(q.to(device, dtype), k.to(device, dtype), v.to(device, dtype))
    with sdpa_kernel(SDPBackend.MATH):
        right = _attend(q, k, v)
    return _error(found, right), CLOSE[dtype]


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def _flash(device: str) -> tuple[float, float]:
    attend: Any = importlib.import_module("flash_attn").flash_attn_func
    q, k, v = (_drawn(1, 32, 2, 64) for _ in range(3))
    found = attend(*(e.to(device, torch.bfloat16) for e in (q, k, v)), causal=True)
    right = _attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
    return _error(found, right.transpose(1, 2)), CLOSE[torch.bfloat16]


def _four_bit(
    device: str, block: int, dtype: Any = torch.float32
) -> tuple[float, float]:
    """Compare a 4-bit layer's output with that of its own dequantised weight."""
    layer, weight = _layer(device, block, dtype)
    rows = _drawn(8, layer.in_features)
    with torch.no_grad():
        found = layer(rows.to(device, dtype))
    functional: Any = importlib.import_module("bitsandbytes.functional")
    kept = functional.dequantize_4bit(layer.weight.data, layer.weight.quant_state)
    lost = _error(kept, weight)
    if lost > FOUR_BITS:
        return lost, FOUR_BITS
    return _error(found, rows @ kept.cpu().double().T), CLOSE[torch.bfloat16]


def _layer(device: str, block: int, dtype: Any = torch.float32) -> Any:
    modules: Any = importlib.import_module("bitsandbytes.nn")
    weight = _drawn(128, 4096)  # more or fewer rows than blocks of a row
    layer = modules.Linear4bit(4096, 128, bias=False, compute_dtype=dtype)
    kind = modules.Params4bit
    layer.weight = kind(
        weight.to(dtype), blocksize=block, quant_type="nf4", compress_statistics=False
    )
    return layer.to(device), weight


def imports_peft() -> bool:
    """Tell whether PEFT can be imported."""
    with contextlib.suppress(Exception):
        importlib.import_module("peft")
        return True
    return False


def imports_flash_attn() -> bool:
    """Tell whether flash-attn's kernels can be loaded into this torch."""
    with contextlib.suppress(Exception):
        importlib.import_module("flash_attn")
        return True
    return False


def numpy_is_there() -> bool:
    """Tell whether a tensor can be read as an array."""
    with contextlib.suppress(RuntimeError):
        torch.ones(1).numpy()
        return True
    return False


def shared_experts_get_their_adapter() -> bool:
    """Tell whether LoRA goes where it is told to go in a mixture of experts."""
    from peft import LoraConfig, get_peft_model
    from transformers import Glm4MoeConfig, Glm4MoeForCausalLM

    config = Glm4MoeConfig(
        hidden_size=16,
        moe_intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        vocab_size=8,
        n_routed_experts=2,
        num_experts_per_tok=1,
        first_k_dense_replace=0,
    )
    with torch.device("meta"):
        model = Glm4MoeForCausalLM(config)
    target = "model.layers.0.mlp.shared_experts.down_proj"
    adapted = get_peft_model(model, LoraConfig(target_modules=[target]))
    trained = [name for name, p in adapted.named_parameters() if p.requires_grad]
    return bool(trained) and all(target in name for name in trained)


def four_bit_survives_evaluation() -> bool:
    """Tell whether a 4-bit weight is the same after an evaluation and a state dict."""
    functional: Any = importlib.import_module("bitsandbytes.functional")
    layer, weight = _layer("cpu", 64, torch.bfloat16)
    layer.eval()
    with torch.no_grad():
        layer(_drawn(8, 4096).to(torch.bfloat16))
    layer.state_dict()
    state = layer.weight.quant_state
    try:
        kept = functional.dequantize_4bit(layer.weight.data, state)
        return kept.shape == weight.shape and _error(kept, weight) <= 0.12
    except Exception:  # noqa: BLE001  a packed weight has another shape
        return False


def four_bit_of_large_blocks() -> bool:
    """Tell whether blocks of 4096 are read as they were written."""
    error, limit = _four_bit("cpu", 4096)
    return error <= limit


def _drawn(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(len(shape) + shape[-1])
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _error(found: torch.Tensor, right: torch.Tensor) -> float:
    gap = found.detach().cpu().double() - right.double()
    return float(gap.norm() / right.double().norm())
