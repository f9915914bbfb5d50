"""A model, read as a whole: its tree, its wrappers, and what a Trainer makes of it."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ftlab.laboratory.carriers import Carrier, carriers
from ftlab.laboratory.modules.as_trainer import READ_IN, Given, seen_by_trainer
from ftlab.laboratory.modules.saved import Saving, saving_of, trained_bytes
from ftlab.laboratory.modules.storage import bytes_of
from ftlab.laboratory.modules.tree import modules_of
from ftlab.laboratory.modules.unquantised import unquantised
from ftlab.laboratory.modules.wrapping import wrappers
from ftlab.probes.model.tied_weights import untied_weights
from ftlab.probes.plain import readable
from ftlab.records.attributes import attribute_of
from ftlab.records.model_anatomy import ModelAnatomy, ModuleFacts, Unquantised
from ftlab.records.sizes import size


def model_anatomy(model: torch.nn.Module) -> ModelAnatomy:
    """Read all that is shown of a model; no value of a weight is read."""
    carried = list(carriers(model))
    left = readable(each=lambda: unquantised(model)).get("each", ())
    modules = modules_of(model, carried, {e.path: _left(e) for e in left})
    saving = saving_of(model, carried)
    given = Given(
        model,
        saving,
        _path_of_few_bits(modules, model),
        next((p for p, m in model.named_modules() if "hf_device_map" in vars(m)), None),
        modules[0].bytes,
        _strange(model, carried),
    )
    return ModelAnatomy(
        modules,
        wrappers(modules),
        seen_by_trainer(given),
        left,
        _placed(model, given.mapped),
        _sizes(modules[0], saving, trained_bytes(model)),
        tuple(_remarks(model, modules)),
        _versions(),
    )


def _left(each: Unquantised) -> str:
    return f"{each.dtype}: {each.skipped or f'asked for in {each.bits} bits'}"


def _path_of_few_bits(
    modules: Sequence[ModuleFacts], model: torch.nn.Module
) -> str | None:
    """Return the path of what says it is quantised, or holds the first such layer."""
    for path, module in model.named_modules():
        if attribute_of(module, "hf_quantizer") is not None and path:
            return path
    return next((each.path for each in modules if each.quantised), None)


def _strange(model: torch.nn.Module, carried: Sequence[Carrier]) -> int:
    """Count the bytes of what learns beside adapters."""
    known = {id(p) for c in carried for each in c.adapters.values() for p in each}
    if not known:
        return 0
    learning = (each for each in model.parameters() if each.requires_grad)
    return sum(bytes_of(each) for each in learning if id(each) not in known)


def _placed(
    model: torch.nn.Module, path: str | None
) -> dict[str, tuple[tuple[str, ...], int]]:
    """Return by device what ``hf_device_map`` has there; offloaded bytes by shape."""
    if path is None:
        return {}
    owner: Any = model.get_submodule(path)
    found: dict[str, tuple[tuple[str, ...], int]] = {}
    for name, device in owner.hf_device_map.items():
        names, held = found.get(str(device), ((), 0))
        there = readable(part=lambda name=name: owner.get_submodule(name)).get("part")
        tensors = [] if there is None else list(there.parameters())
        held += sum(map(bytes_of, tensors))
        found[str(device)] = (*names, name or "all of it"), held
    return found


def _sizes(root: ModuleFacts, saving: Saving, learns: int) -> dict[str, int]:
    written = {"adapters": saving.adapters, "empty": 0, "sharded": 0}.get(
        saving.way, saving.whole
    )
    return {
        "weights": root.bytes,
        "gradients": learns,
        "AdamW's two moments": 2 * learns,
        "each checkpoint": written,
    }


def _remarks(model: torch.nn.Module, modules: Sequence[ModuleFacts]) -> Iterator[str]:
    for pair in readable(each=lambda: untied_weights(model)).get("each", ()):
        yield (
            f"{pair['output']} and {pair['input']} are tied by the configuration, and "
            "are two tensors"
        )
    names = {name for each in modules for name in each.devices}
    if "meta" in names:
        held = sum(n for e in modules if e.devices[:1] == ("meta",) for _, n in _own(e))
        yield f"{size(held)} are on the meta device: there are shapes, and no values"
    if not torch.cuda.is_available():
        yield "no CUDA device is here: what a GPU would hold is predicted"


def _own(each: ModuleFacts) -> tuple[tuple[str, int], ...]:
    return each.stored if not each.children else ()


def _versions() -> str:
    module = sys.modules.get("transformers")
    here = str(getattr(module, "__version__", ""))
    if not here or here.startswith(f"{READ_IN}."):
        return f"transformers {here}" if here else ""
    return f"transformers {here}; the decisions were read in {READ_IN}"
