"""What quantisation has made of each weight, one layer at a time."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.plain import dtype_name
from ftlab.probes.tensors.whole_weight import whole_weight
from ftlab.records.places import place_of
from ftlab.records.quantisation import QuantisedLayer

FAR = 3.0
"""Scale over the median one from which a block counts as an outlier. Of 262,144 blocks
of 64 normal values the largest scale is 2.1 times the median (measured)."""

Original = Callable[[str], torch.Tensor | None]


def quantised_layers(
    model: torch.nn.Module, original: Original = lambda _: None
) -> Iterator[QuantisedLayer]:
    """Measure all layers of few bits.

    Parameters
    ----------
    original
        Returns the weight of a name as it was, ``None`` where that is not known.
    """
    pairs = {id(pair.base): pair for pair in lora_pairs(model)}
    for path, module in model.named_modules():
        weight: Any = dict(module.named_parameters(recurse=False)).get("weight")
        kind = type(weight).__name__
        if kind not in ("Params4bit", "Int8Params"):
            continue
        name = shared_name(path).removesuffix(".base_layer")
        four = kind == "Params4bit"
        facts = _four_bits(weight) if four else _eight_bits(module, weight)
        if facts is None:
            continue
        there = original(f"{name}.weight")
        source = getattr(module, "source_cls", None)
        if there is not None and getattr(source, "__name__", "") == "Conv1D":
            there = there.T
        pair = pairs.get(id(module))
        errors: dict[str, Any] = {}
        whole = None if there is None else whole_weight(module)
        if there is not None and whole is not None:
            errors = _errors(there, whole, facts["block"], pair)
        compute = getattr(module, "compute_dtype", None)
        yield QuantisedLayer(
            name=name,
            place=place_of(name),
            storage=dtype_name(weight.dtype),
            compute="" if compute is None else dtype_name(compute),
            weights=facts.pop("count"),
            **facts,
            **errors,
        )


def _four_bits(weight: Any) -> dict[str, Any] | None:
    from bitsandbytes.functional import dequantize_blockwise

    state = getattr(weight, "quant_state", None)
    if state is None or weight.is_meta:
        return None
    scales = state.absmax
    kept = weight.nbytes + scales.nbytes + state.code.nbytes
    if state.nested:
        kept += state.state2.absmax.nbytes + state.state2.code.nbytes
        kept += state.offset.nbytes
        scales = dequantize_blockwise(state.absmax, state.state2) + state.offset
    packed = weight.data.detach().reshape(-1).view(torch.uint8)
    codes = torch.bincount(torch.cat((packed >> 4, packed & 15)).int(), minlength=16)
    order = torch.argsort(state.code.cpu().float())
    count = state.shape.numel()
    return {
        "kind": state.quant_type,
        "count": count,
        "block": state.blocksize,
        "nested": bool(state.nested),
        "bytes_there": kept,
        "bytes_predicted": predicted_bytes(count, state.blocksize, nested=state.nested),
        "code": state.code.cpu().double()[order].numpy(),
        "used": (codes.cpu().double() / codes.sum().cpu())[order].numpy(),
        **_spread(scales),
    }


def _eight_bits(module: Any, weight: Any) -> dict[str, Any] | None:
    scale = getattr(weight, "SCB", None)
    if scale is None:
        scale = getattr(getattr(module, "state", None), "SCB", None)
    if scale is None or weight.is_meta or weight.dtype != torch.int8:
        return None
    rows, columns = weight.shape
    return {
        "kind": "int8",
        "count": rows * columns,
        "block": columns,
        "nested": False,
        "bytes_there": weight.nbytes + scale.nbytes,
        "bytes_predicted": rows * columns + 4.0 * rows,
        **_spread(scale),
    }


def predicted_bytes(count: int, block: int, *, nested: bool) -> float:
    """Return the bytes of 4-bit weights, their scales and code books.

    Half a byte for each weight, four for each block's scale or, nested, one, with four
    for each 256 of these, and 256 code values; Dettmers et al. 2023, "QLoRA".
    """
    blocks = -(-count // block)
    code = 16 * 4
    if not nested:
        return count / 2 + 4 * blocks + code
    return count / 2 + blocks + 4 * -(-blocks // 256) + 256 * 4 + 4 + code


def _spread(scales: torch.Tensor) -> dict[str, float]:
    sizes = scales.detach().float().abs().flatten()
    middle = float(sizes.median())
    if not middle > 0:
        return {}
    far = (sizes > FAR * middle).double().mean()
    return {"spread": float(sizes.max()) / middle, "outliers": float(far)}


def _errors(
    original: torch.Tensor, whole: torch.Tensor, block: int, pair: LoraPair | None
) -> dict[str, float]:
    """Measure one layer's error, in all and by block."""
    if original.shape != whole.shape:
        return {}
    exact = original.detach().to("cpu", torch.float32)
    missing = exact - whole.cpu().float()
    error = float(missing.double().norm())
    size = float(exact.double().norm())
    found = {"error": error, "relative": error / size if size else float("nan")}
    lost, there = (_blocks(each, block) for each in (missing, exact))
    shares = torch.where(there > 0, lost / there.clamp(min=1e-30), 0.0)
    found["worst"] = float(shares.max())
    if pair is not None and pair.a is not None and pair.b is not None and error:
        # <missing, s B A> and the update's size, without putting B A together
        a, b = pair.a.cpu().double(), pair.b.cpu().double()
        inner = pair.scaling * float((b.T @ missing.double() * a).sum())
        square = pair.scaling**2 * float(((b.T @ b) * (a @ a.T)).sum())
        left = error**2 - 2 * inner + square
        found["compensated"] = 1 - left / error**2
    return found


def _blocks(values: torch.Tensor, block: int) -> torch.Tensor:
    flat = values.flatten()
    padded = torch.nn.functional.pad(flat, (0, -flat.numel() % block))
    return padded.view(-1, block).norm(dim=1)
