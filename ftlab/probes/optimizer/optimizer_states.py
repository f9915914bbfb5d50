"""How an optimizer's states fit the parameters that they stand by.

torch gives states to parameters by their order and looks at nothing else. Four things
prove that a state is another parameter's, or of other weights: its shape; a LoRA's B
that is 0, or a norm's weight that is 1 throughout, although its moments say that it was
updated; and the direction of the moments, for what was added to B since it was 0 still
points along them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.probes.adapter.lora_pairs import lora_pairs
from ftlab.probes.naming import clean_name, named_parameters
from ftlab.probes.plain import readable
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.records.attributes import attribute_of

SHOWN = 64
"""At most so many names are kept; how many there are is told besides."""

_FIRST = ("exp_avg", "momentum_buffer")
_OF_ONE_SHAPE = (*_FIRST, "exp_avg_sq", "max_exp_avg_sq", "square_avg", "sum")
"""States that torch's own optimizers keep in the parameter's shape."""

_ELEMENTS = 1 << 14
"""Elements of each tensor that directions are compared by."""

_VISIBLE = 1e-5
"""A learning rate with which Adam moves a 1 of 24 bits: the next is 1.2e-7 away."""

ALIKE, CHANCE, OWN = 0.2, 6.0, 0.5
"""A moment is another tensor's when its cosine with what that tensor has gained is at
least the first, is so many deviations of chance, and is by the last above its own."""


@dataclass(frozen=True, slots=True)
class _Second:
    """The B of a LoRA pair that began at 0, and its first moment."""

    name: str
    values: torch.Tensor
    moment: torch.Tensor
    steps: float


def state_facts(model: torch.nn.Module, optimizer: Any) -> dict[str, Any]:
    """Compare an optimizer's states with the parameters that they stand by.

    Returns
    -------
    dict
        ``states``: parameters that have one. ``misshapen`` and ``misshapen_count``:
        those whose state has another shape. ``misnamed``: parameters that the
        optimizer's groups call by the name of another one: a state that is loaded
        brings its names along. ``moved`` and ``empty``: how many B of LoRA
        pairs have moments of two steps or more, and how many of these are 0.
        ``swapped``: names of B with the names of those whose moments they have.
        ``norms``: weights and biases of norms whose moments say that Adam has moved
        them; ``unmoved`` and ``unmoved_count``: those that are 1, or 0, throughout.
    """
    own = unwrapped(optimizer)
    model = innermost(model)
    names = {id(e.parameter): e.name for e in named_parameters(model)}
    misshapen = [
        names.get(id(p), "") for p, state in own.state.items() if misfits(own, p, state)
    ]
    found: dict[str, Any] = {"states": len(own.state)}
    if misnamed := _misnamed(own, names):
        found["misnamed"] = misnamed
    if misshapen:
        return found | {
            "misshapen": misshapen[:SHOWN],
            "misshapen_count": len(misshapen),
        }
    found |= readable(_=lambda: _seconds_facts(model, own.state)).get("_", {})
    return found | readable(_=lambda: _norms_facts(model, own)).get("_", {})


def _misnamed(optimizer: Any, names: Mapping[int, str]) -> dict[str, str]:
    """Find parameters that a group calls by another one's name."""
    known = set(names.values())
    found = {}
    for group in optimizer.param_groups:
        stated = group.get("param_names") or ()
        for parameter, name in zip(group["params"], stated, strict=False):
            own = names.get(id(parameter), "")
            if own and clean_name(name) != own and clean_name(name) in known:
                found[own] = clean_name(name)
    return dict(list(found.items())[:SHOWN])


def misfits(optimizer: Any, parameter: torch.Tensor, state: Any) -> bool:
    """Tell whether a parameter's state has another shape than it, and should not."""
    # GaLore, Adafactor and the like keep states of other shapes on purpose.
    if not type(optimizer).__module__.startswith("torch.optim"):
        return False
    return isinstance(state, Mapping) and any(
        isinstance(state.get(key), torch.Tensor)
        and state[key].shape != parameter.shape
        and state[key].numel() > 1
        for key in _OF_ONE_SHAPE
    )


def _seconds_facts(model: torch.nn.Module, states: Mapping[Any, Any]) -> dict[str, Any]:
    seconds = list(_seconds(model, states))
    if not seconds:
        return {}
    moved = [each for each in seconds if each.steps >= 2 and _is_whole(each.moment)]
    empty = sum(not bool(each.values.any()) for each in moved)
    groups: dict[torch.Size, list[_Second]] = {}
    for each in seconds:
        groups.setdefault(each.values.shape, []).append(each)
    swapped: dict[str, str] = {}
    for group in groups.values():
        swapped |= _swapped(group)
    return {"moved": len(moved), "empty": empty, "swapped": swapped}


def _norms_facts(model: torch.nn.Module, optimizer: Any) -> dict[str, Any]:
    held = {
        id(parameter): float(group.get("lr", 0)) >= _VISIBLE
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    of_norms = {
        id(parameter)
        for module in model.modules()
        if "norm" in type(module).__name__.lower()
        for parameter in module.parameters(recurse=False)
    }
    moved = [
        each
        for each in named_parameters(model)
        if id(each.parameter) in of_norms
        and held.get(id(each.parameter))
        and _has_moved(each.parameter, optimizer.state.get(each.parameter))
    ]
    if not moved:
        return {}
    unmoved = [each.name for each in moved if _is_as_made(each.parameter)]
    return {
        "norms": len(moved),
        "unmoved": unmoved[:SHOWN],
        "unmoved_count": len(unmoved),
    }


def _has_moved(parameter: torch.Tensor, state: Any) -> bool:
    """Tell whether Adam's moments say that every step could be seen in a parameter."""
    if not isinstance(state, Mapping) or torch.finfo(parameter.dtype).eps > _VISIBLE:
        return False
    first, second = state.get("exp_avg"), state.get("exp_avg_sq")
    if not (isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor)):
        return False
    if first.shape != parameter.shape or float(state.get("step", 2)) < 2:
        return False
    return _is_whole(first) and bool(second.max().sqrt() > _VISIBLE)


def _is_as_made(parameter: torch.Tensor) -> bool:
    value = parameter.detach()
    return bool((value == 1).all() | (value == 0).all())


def _seconds(model: torch.nn.Module, states: Mapping[Any, Any]) -> Iterator[_Second]:
    """Yield the B of each pair that is trained and begins at 0."""
    configs = attribute_of(model, "peft_config", {})
    for pair in lora_pairs(model):
        second = pair.parameters[1]
        begun = getattr(configs.get(pair.adapter), "init_lora_weights", True)
        # An embedding's A is what begins at 0.
        embedding = pair.adapter in attribute_of(pair.layer, "lora_embedding_A", {})
        plain = begun in (True, "gaussian") and not embedding
        state = states.get(second)
        if plain and second.requires_grad and isinstance(state, Mapping):
            moment = next((state[k] for k in _FIRST if k in state), None)
            if isinstance(moment, torch.Tensor) and moment.shape == second.shape:
                steps = state.get("step", 2)
                name = f"{clean_name(pair.module)}.lora_B.{pair.adapter}.weight"
                yield _Second(name, second.detach(), moment, float(steps))


def _is_whole(moment: torch.Tensor) -> bool:
    """Tell whether a moment was not emptied: ReLoRA prunes most of it at a restart."""
    return bool((moment != 0).float().mean() >= OWN)


def _swapped(group: list[_Second]) -> dict[str, str]:
    """Find tensors whose gain points along the moments of another one."""
    if len(group) < 2:
        return {}
    gains = torch.stack([_direction(each.values) for each in group])
    moments = torch.stack([_direction(-each.moment) for each in group])
    cosines = (gains @ moments.T).cpu()
    least = max(ALIKE, CHANCE / gains.shape[1] ** 0.5)
    found = {}
    for row, each in enumerate(group):
        best = int(cosines[row].argmax())
        mutual = int(cosines[:, best].argmax()) == row
        clear = cosines[row, row] <= OWN * cosines[row, best]
        if best != row and mutual and clear and cosines[row, best] >= least:
            found[each.name] = group[best].name
    return found if len(found) > 1 else {}


def _direction(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.detach().flatten()
    flat = flat[:: max(1, flat.numel() // _ELEMENTS)].float()
    return flat / flat.norm().clamp_min(torch.finfo(torch.float32).tiny)
