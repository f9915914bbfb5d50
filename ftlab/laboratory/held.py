"""The tensors of one side of a comparison: of a folder, or of a live model."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from ftlab.executions.listening import shared_name
from ftlab.laboratory.carriers import adapter_names
from ftlab.records.errors import BadValueError

CONFIGS = ("config.json", "adapter_config.json", "generation_config.json")
PICKLES = ("adapter_model.bin", "pytorch_model.bin", "model.bin", "consolidated.00.pth")
CONVERT = (
    "convert it where you trust it: "
    "safetensors.torch.save_file(torch.load({file!r}, weights_only=True), {to!r})"
)


@dataclass(slots=True)
class Held:
    """Tensors by name, read one at a time.

    Attributes
    ----------
    name
        What the side is called.
    shapes
        Shape, dtype and bytes of each tensor.
    get
        Reads one.
    scalings
        Of LoRA: the factor of each module's product.
    configs
        Settings by file.
    """

    name: str
    shapes: dict[str, tuple[tuple[int, ...], str, int]]
    get: Callable[[str], torch.Tensor]
    scalings: Callable[[str, int], float]
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def held_by(given: Any, stack: ExitStack) -> Held:
    """Return the tensors of a folder, which stay on disk, or of a model.

    Raises
    ------
    BadValueError
        A folder holds no safetensors, or a pickle alone, which is not opened.
    """
    if isinstance(given, str | Path):
        return _of_folder(Path(given), stack)
    return _of_model(given)


def _of_model(model: torch.nn.Module) -> Held:
    adapters = set(adapter_names(model))
    active = _active(model, adapters)
    tensors: dict[str, torch.Tensor] = {}
    scales: dict[str, float] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if not (adapters - active) & set(name.split(".")):
            tensors[_plain(name, adapters)] = parameter.detach()
    for path, module in model.named_modules():
        scaling = getattr(module, "scaling", None)
        found = scaling if isinstance(scaling, dict) else {}
        scales |= {shared_name(path): float(found[n]) for n in found if n in active}
    return Held(
        type(model).__name__,
        {name: _shape(t.shape, t.dtype, t.nbytes) for name, t in tensors.items()},
        tensors.__getitem__,
        lambda module, _: scales.get(module, 1.0),
        _live_configs(model),
    )


def _active(model: Any, adapters: set[str]) -> set[str]:
    """Return the adapters that a model uses: files hold one."""
    active = getattr(model, "active_adapter", None)
    if isinstance(active, str) and active in adapters:
        return {active}
    return set(active) & adapters if isinstance(active, list) else adapters


def _of_folder(folder: Path, stack: ExitStack) -> Held:
    files = sorted(folder.glob("*.safetensors")) if folder.is_dir() else []
    if not files:
        raise BadValueError(_refusal(folder))
    where: dict[str, tuple[Any, str]] = {}
    shapes = {}
    for file in files:
        opened = stack.enter_context(safe_open(file, framework="pt"))
        for key in opened.keys():  # noqa: SIM118  safe_open is no dictionary
            name = _plain(key, set())
            where[name] = opened, key
            part = opened.get_slice(key)
            dtype = _DTYPES.get(part.get_dtype(), torch.uint8)
            shape = tuple(part.get_shape())
            count = int(torch.Size(shape).numel())
            shapes[name] = _shape(shape, dtype, count * dtype.itemsize)
    configs = {name: _json(folder / name) for name in CONFIGS}
    adapter = configs["adapter_config.json"]
    return Held(
        folder.name,
        shapes,
        lambda name: where[name][0].get_tensor(where[name][1]),
        lambda module, rank: _scaling(adapter, module, rank),
        {name: each for name, each in configs.items() if each},
    )


def _refusal(folder: Path) -> str:
    if not folder.is_dir():
        return f"{str(folder)!r} is no folder; pass that of a checkpoint, or a model."
    pickle = next((n for n in PICKLES if (folder / n).is_file()), "")
    if not pickle:
        return f"{str(folder)!r} holds no .safetensors; pass the folder that does."
    name = "adapter_model" if pickle.startswith("adapter") else "model"
    way = CONVERT.format(
        file=str(folder / pickle), to=str(folder / f"{name}.safetensors")
    )
    return (
        f"{str(folder)!r} holds {pickle}, a pickle, which can run any code when it is "
        f"opened, and no safetensors; {way}."
    )


def _plain(name: str, adapters: set[str]) -> str:
    """Leave out wrappers and the adapter's name, which files do not have."""
    parts = shared_name(name).split(".")
    kept = [p for p in parts if p not in adapters and p != "base_layer"]
    return ".".join(kept)


def _scaling(config: Mapping[str, Any], module: str, rank: int) -> float:
    """Return alpha / r, or alpha / sqrt(r), as PEFT takes it for a module."""
    alpha = _of_pattern(config.get("alpha_pattern"), module, config.get("lora_alpha"))
    if not alpha or not rank:
        return 1.0
    return float(alpha) / (rank**0.5 if config.get("use_rslora") else rank)


def _of_pattern(pattern: Any, module: str, default: Any) -> Any:
    for key, value in dict(pattern or {}).items():
        if re.match(rf"(.*\.)?({key})$", module):
            return value
    return default


def _live_configs(model: Any) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    config: Any = getattr(model, "config", None)
    if hasattr(config, "to_dict"):
        found["config.json"] = config.to_dict()
    adapters = dict(getattr(model, "peft_config", None) or {})
    if len(adapters) == 1:
        (one,) = adapters.values()
        found["adapter_config.json"] = _plain_values(one.to_dict())
    return found


def _plain_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as their JSON has them: sets are lists, enums are words."""
    sorted_sets = {
        k: sorted(v) if isinstance(v, set) else v for k, v in settings.items()
    }
    made: dict[str, Any] = json.loads(json.dumps(sorted_sets, default=_word))
    return made


def _word(value: Any) -> Any:
    return getattr(value, "value", None) or str(value)


def _json(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _shape(
    shape: Any, dtype: torch.dtype, count: int
) -> tuple[tuple[int, ...], str, int]:
    return tuple(shape), str(dtype).removeprefix("torch."), count


_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
}
