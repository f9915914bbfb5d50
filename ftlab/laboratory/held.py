"""The tensors of one side of a comparison: of a folder, or of a live model."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from ftlab.executions.listening import shared_name
from ftlab.executions.pairs import is_merged
from ftlab.laboratory.carriers import adapter_names
from ftlab.probes.plain import dtype_name
from ftlab.probes.tensors.whole_weight import whole_weight
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
        Of LoRA: the factor of each module's product, and r.
    configs
        Settings by file.
    own
        Names of the adapter's tensors.
    alone
        Whether it holds an adapter without its base.
    on_disk
        Whether it is a folder: its settings are those that differ from defaults.
    """

    name: str
    shapes: dict[str, tuple[tuple[int, ...], str, int]]
    get: Callable[[str], torch.Tensor]
    scalings: Callable[[str, int], tuple[float, int]]
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    alone: bool = False
    on_disk: bool = False

    def only_its_own(self) -> None:
        """Leave the base's tensors out, to be held against an adapter's folder."""
        self.shapes = {n: s for n, s in self.shapes.items() if n in self.own}


def held_by(given: Any, stack: ExitStack, adapter: str = "") -> Held:
    """Return the tensors of a folder, which stay on disk, or of a model.

    Parameters
    ----------
    adapter
        Of a model: whose tensors to take; by default those of the active one.

    Raises
    ------
    BadValueError
        A folder holds no safetensors, or a pickle alone, which is not opened.
    """
    if isinstance(given, str | Path):
        return _of_folder(Path(given), stack)
    if not isinstance(given, torch.nn.Module):
        msg = f"{given!r} is neither a folder nor a model; pass one of them."
        raise BadValueError(msg)
    return _of_model(given, adapter)


def _of_model(model: torch.nn.Module, adapter: str) -> Held:
    adapters = set(adapter_names(model))
    active = {adapter} if adapter else _active(model, adapters)
    read: dict[str, Callable[[], torch.Tensor]] = {}
    shapes: dict[str, tuple[tuple[int, ...], str, int]] = {}
    scales: dict[str, tuple[float, int]] = {}
    own: set[str] = set()
    for path, module in model.named_modules():
        scaling: Any = getattr(module, "scaling", None)
        for each in active & set(scaling if isinstance(scaling, dict) else ()):
            rank = int(dict(getattr(module, "r", {})).get(each, 0))
            scales[shared_name(path)] = float(scaling[each]), rank
        for key, parameter in module.named_parameters(recurse=False):
            name = f"{path}.{key}" if path else key
            belongs = set(_named(name.split("."), adapters).values())
            if belongs - active or ".original_module." in name:
                continue
            plain = _plain(name, adapters)
            own |= {plain} if belongs else set()
            read[plain] = partial(_whole, module, key)
            shapes[plain] = _shape(*_kind(parameter))
    return Held(
        adapter or type(model).__name__,
        shapes,
        lambda name: read[name](),
        lambda module, rank: scales.get(module, (1.0, rank)),
        _live_configs(model, adapter),
        own,
        alone=bool(adapter),
    )


def _whole(module: torch.nn.Module, key: str) -> torch.Tensor:
    """Return a parameter, put together where it is kept in few bits."""
    found = whole_weight(module) if key == "weight" else None
    return getattr(module, key).detach() if found is None else found


def _kind(parameter: Any) -> tuple[Any, str, int]:
    """Return shape, dtype or code book, and bytes."""
    state = getattr(parameter, "quant_state", None)
    if state is not None:
        return state.shape, state.quant_type, parameter.nbytes
    return parameter.shape, dtype_name(parameter.dtype), parameter.nbytes


def _active(model: Any, adapters: set[str]) -> set[str]:
    """Return the adapter that a model uses: files hold one.

    Raises
    ------
    BadValueError
        Several are active, or one is merged into the weights.
    """
    if is_merged(model):
        msg = "an adapter is merged into this model; call unmerge_adapter() first."
        raise BadValueError(msg)
    layers = [m for m in model.modules() if hasattr(m, "merged_adapters")]
    given = getattr(model, "active_adapter", None)
    found = {each for layer in layers for each in layer.active_adapters} & adapters
    if not found:
        found = {given} if isinstance(given, str) else adapters
    if len(found) > 1:
        names = ", ".join(sorted(found))
        msg = f"several adapters are active ({names}); choose one by set_adapter(name)."
        raise BadValueError(msg)
    return found


def _of_folder(folder: Path, stack: ExitStack) -> Held:
    files = sorted(folder.glob("*.safetensors")) if folder.is_dir() else []
    if not files:
        raise BadValueError(_refusal(folder))
    where: dict[str, tuple[Any, str]] = {}
    shapes = {}
    for file in files:
        opened = stack.enter_context(_opened(file))
        for key in opened.keys():  # noqa: SIM118  safe_open is no dictionary
            name = _plain(key, set())
            where[name] = opened, key
            part = opened.get_slice(key)
            dtype = _DTYPES.get(part.get_dtype(), torch.uint8)
            shape = tuple(part.get_shape())
            count = int(torch.Size(shape).numel())
            shapes[name] = _shape(shape, dtype_name(dtype), count * dtype.itemsize)
    configs = {name: _json(folder / name) for name in CONFIGS}
    adapter = configs["adapter_config.json"]
    if any(".lora_" in name for name in shapes) and "lora_alpha" not in adapter:
        msg = (
            f"{str(folder)!r} holds a LoRA and no adapter_config.json that can be "
            "read: its scaling is not known. Put the one beside it that was saved."
        )
        raise BadValueError(msg)
    return Held(
        folder.name,
        shapes,
        lambda name: where[name][0].get_tensor(where[name][1]),
        lambda module, rank: _scaling(adapter, module, rank),
        {name: each for name, each in configs.items() if each},
        set(shapes) if adapter else set(),
        alone=bool(adapter),
        on_disk=True,
    )


def _opened(file: Path) -> Any:
    try:
        return safe_open(file, framework="pt")
    except (OSError, SafetensorError) as error:
        msg = f"{str(file)!r} cannot be read: {error}."
        raise BadValueError(msg) from error


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
    named = _named(parts, adapters)
    kept = [
        part
        for at, part in enumerate(parts)
        if at not in named and part not in ("base_layer", "modules_to_save")
    ]
    return ".".join(kept).replace("magnitude_vector.weight", "magnitude_vector")


def _named(parts: list[str], adapters: set[str]) -> dict[int, str]:
    """Return where the name of an adapter stands in a parameter's name.

    Adapters may be called like layers, by numbers: their names stand at the end, or
    behind ``modules_to_save``.
    """
    return {
        at: part
        for at, part in enumerate(parts)
        if part in adapters
        and at
        and (
            parts[at - 1] == "modules_to_save"
            or (at >= len(parts) - 2 and parts[at - 1] not in _NUMBERED)
        )
    }


_NUMBERED = frozenset({"layers", "layer", "h", "blocks", "block", "experts"})


def _scaling(config: Mapping[str, Any], module: str, rank: int) -> tuple[float, int]:
    """Return alpha / r, or alpha / sqrt(r), and r, as PEFT takes them for a module."""
    alpha = _of_pattern(config.get("alpha_pattern"), module, config.get("lora_alpha"))
    r = int(_of_pattern(config.get("rank_pattern"), module, config.get("r")) or rank)
    if not alpha:
        return 1.0, r
    return float(alpha) / (r**0.5 if config.get("use_rslora") else r), r


def _of_pattern(pattern: Any, module: str, default: Any) -> Any:
    for key, value in dict(pattern or {}).items():
        if re.match(rf"(.*\.)?({key})$", module):
            return value
    return default


def _live_configs(model: Any, adapter: str) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    config: Any = getattr(model, "config", None)
    if hasattr(config, "to_dict"):
        found["config.json"] = config.to_dict()
    adapters = dict(getattr(model, "peft_config", None) or {})
    if len(adapters) == 1 or adapter:
        one = adapters[adapter or next(iter(adapters))]
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


def _shape(shape: Any, dtype: str, count: int) -> tuple[tuple[int, ...], str, int]:
    return tuple(shape), dtype, count


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
