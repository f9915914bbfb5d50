"""Facts of what no checkpoint holds: buffers outside the state dict, meta tensors.

``to_empty`` gives a model built on the meta device memory without values. Loading a
state dict fills parameters; buffers that are not in it stay as they are.
"""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ftlab.probes.naming import clean_name
from ftlab.records.attributes import attribute_of, has_attribute

RELATIVE = 0.02
"""Difference from a fresh buffer from which on it counts as another one.

Casting to bf16 changes values by up to 0.4 %, to float16 by 0.05 %.
"""

HUGE = 1e30
"""Magnitude that no buffer has on purpose, but memory without values may show."""

MANY = 64


def buffer_facts(model: torch.nn.Module) -> dict[str, Any]:
    """Read which buffers hold no sensible values, and what is still on meta.

    Returns
    -------
    dict
        ``bad`` (what is wrong, by the buffer's name), ``compared`` (buffers that were
        compared with those of a module built anew) and ``meta`` (parameters and buffers
        without memory that no offloading hook will bring).
    """
    bad: dict[str, str] = {}
    compared = 0
    for path, module in model.named_modules():
        own = dict(module.named_buffers(recurse=False))
        if not own or isinstance(module, torch.jit.ScriptModule):
            continue
        left_out = set(vars(module).get("_non_persistent_buffers_set", ()))
        fresh = _fresh(module) if left_out else {}
        for name, buffer in own.items():
            full = clean_name(f"{path}.{name}" if path else name)
            if buffer.is_meta:
                continue
            wrong = _wrong(buffer)
            if not wrong and name in fresh and name in left_out:
                compared += 1
                wrong = _differs(buffer, fresh[name])
            if wrong:
                bad[full] = wrong
    return {"bad": bad, "compared": compared, "meta": list(_on_meta(model))[:MANY]}


def _wrong(buffer: torch.Tensor) -> str:
    """Say what a buffer can never hold: NaN, and numbers beyond all others."""
    if not buffer.is_floating_point() or not buffer.numel():
        return ""
    values = buffer.detach().float()
    if bool(values.isnan().any()):
        return "holds NaN"
    finite = values[values.isfinite()]
    lowest = torch.finfo(buffer.dtype).min  # masks are full of it
    strange = (finite.abs() > HUGE) & (finite != lowest) & (finite != -lowest)
    return "holds magnitudes above 1e30" if bool(strange.any()) else ""


def _differs(buffer: torch.Tensor, fresh: torch.Tensor) -> str:
    if buffer.shape != fresh.shape:
        return ""
    now, wanted = buffer.detach().double().cpu(), fresh.detach().double().cpu()
    apart = float((now - wanted).abs().max()) if now.numel() else 0.0
    if apart <= RELATIVE * max(float(wanted.abs().max()), 1e-30):
        return ""
    return f"differs from a new one by up to {apart:.3g}"


def _fresh(module: Any) -> Mapping[str, torch.Tensor]:
    """Build the module again from its configuration; nothing where that is not known.

    Only modules without parameters that take nothing but a configuration: rotary
    embeddings. Those whose buffers change with the length of the input are left out.
    """
    config = attribute_of(module, "config")
    if config is None or next(module.parameters(), None) is not None:
        return {}
    if next(module.children(), None) is not None or _moves(module):
        return {}
    try:
        wanted = inspect.signature(type(module).__init__).parameters
        needed = [
            name
            for name, each in wanted.items()
            if each.default is each.empty
            and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
        if needed != ["self", "config"]:
            return {}
        with torch.device("cpu"), torch.random.fork_rng(devices=[]):
            made = type(module)(config)
    except Exception:  # noqa: BLE001  a class of others that cannot be built so
        return {}
    return dict(made.named_buffers(recurse=False))


def _moves(module: Any) -> bool:
    kinds = attribute_of(module, "rope_type", "")
    kinds = kinds.values() if isinstance(kinds, dict) else [kinds]
    return any(kind in ("dynamic", "longrope") for kind in kinds)


def _on_meta(model: torch.nn.Module) -> Iterator[str]:
    """Yield tensors without memory whose module no hook of accelerate will fill."""
    for path, module in model.named_modules():
        if has_attribute(module, "_hf_hook"):
            continue
        parameters = module.named_parameters(recurse=False)
        for name, tensor in (*parameters, *module.named_buffers(recurse=False)):
            if tensor.is_meta:
                yield clean_name(f"{path}.{name}" if path else name)
