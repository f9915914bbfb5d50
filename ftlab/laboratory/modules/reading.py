"""A model, read as a whole: its tree, its wrappers, and what a Trainer makes of it."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ftlab.laboratory.carriers import Carrier, carriers
from ftlab.laboratory.modules.as_trainer import READ_IN, Given, seen_by_trainer
from ftlab.laboratory.modules.idle import idle, learning_in
from ftlab.laboratory.modules.moments import arguments_of, moments_of
from ftlab.laboratory.modules.saved import saving_of
from ftlab.laboratory.modules.storage import bytes_of
from ftlab.laboratory.modules.tree import modules_of
from ftlab.laboratory.modules.unquantised import unquantised
from ftlab.probes.model.tied_weights import untied_weights
from ftlab.probes.plain import readable
from ftlab.records.model_anatomy import ModelAnatomy
from ftlab.records.sizes import size


def model_anatomy(model: torch.nn.Module, trainer: Any = None) -> ModelAnatomy:
    """Read all that is shown of a model; no value of a weight is read.

    What a Trainer decides is told for the arguments of the one given.
    """
    carried = list(carriers(model))
    left = readable(each=lambda: unquantised(model)).get("each", ())
    why = {e.path: e.skipped or f"asked for in {e.bits} bits" for e in left}
    why = {e.path: f"{e.dtype}: {why[e.path]}" for e in left}
    modules = modules_of(model, carried, why)
    few = (each.path for each in modules if each.quantised)
    loaded = _path_with(model, "hf_quantizer")
    learning = learning_in(model, carried)
    args = arguments_of(trainer)
    learns = sum(map(bytes_of, learning.values()))
    given = Given(
        model,
        saving_of(model, carried),
        next(few, None) if loaded is None else loaded,
        _path_with(model, "hf_device_map"),
        modules[0].bytes,
        learns,
        _strange(learning, carried),
        None if learning else idle(model, carried),
        args,
        moments_of(trainer, args, learns),
    )
    return ModelAnatomy(
        modules,
        seen_by_trainer(given),
        left,
        _placed(model, given.mapped),
        _sizes(given),
        tuple(_remarks(model)),
        _versions(),
    )


def _path_with(model: torch.nn.Module, name: str) -> str | None:
    return next((p for p, m in model.named_modules() if name in vars(m)), None)


def _strange(learning: dict[str, Any], carried: Sequence[Carrier]) -> tuple[str, int]:
    """Name the first parameter that learns beside adapters, and count all bytes."""
    known = {id(p) for c in carried for each in c.adapters.values() for p in each}
    rest = {n: bytes_of(p) for n, p in learning.items() if id(p) not in known}
    return (next(iter(rest)), sum(rest.values())) if known and rest else ("", 0)


def _placed(
    model: torch.nn.Module, path: str | None
) -> dict[str, tuple[tuple[str, ...], int]]:
    """Return what ``hf_device_map`` has on each device, with its bytes."""
    found: dict[str, tuple[tuple[str, ...], int]] = {}
    owner: Any = None if path is None else model.get_submodule(path)
    for name, device in () if owner is None else owner.hf_device_map.items():
        names, held = found.get(str(device), ((), 0))
        inside = dict(owner.named_modules(remove_duplicate=False)).get(name)
        held += sum(map(bytes_of, inside.parameters())) if inside is not None else 0
        found[str(device)] = (*names, name or "all of it"), held
    return found


def _sizes(given: Given) -> dict[str, int]:
    written = {"adapters": given.saving.adapters, "empty": 0, "sharded": 0}
    sizes = {"weights": given.weights, "gradients": given.learns}
    if given.moments.bytes is not None:
        sizes[given.moments.name] = given.moments.bytes
    if given.argument("save_strategy") != "no":
        held = written.get(given.saving.way, given.saving.whole)
        sizes["each checkpoint"] = held
    return sizes


def _remarks(model: torch.nn.Module) -> Iterator[str]:
    for pair in readable(each=lambda: untied_weights(model)).get("each", ()):
        names = f"{pair['output']} and {pair['input']}"
        yield f"{names} are tied by the configuration, and are two tensors"
    if empty := [each for each in model.parameters() if each.is_meta]:
        held = size(sum(map(bytes_of, empty)))
        yield f"{held} are on the meta device: there are shapes, and no values"
    if not torch.cuda.is_available():
        yield "no CUDA device is here: what a GPU would hold is predicted"


def _versions() -> str:
    here = str(getattr(sys.modules.get("transformers"), "__version__", ""))
    read = "" if here.startswith(f"{READ_IN}.") else f"; they were read in {READ_IN}"
    return f"transformers {here}{read}" if here else ""
