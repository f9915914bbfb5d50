"""What parameters are called: clean names, layers, and roles within PEFT.

Wrappers (DDP, ``torch.compile``, FSDP) put prefixes into names; a run that was watched
with and without them must agree on every name, so they are dropped everywhere.
"""

import functools
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch

from ftlab.records.attributes import attribute_of
from ftlab.records.printable import printable

WRAPPERS = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module"})
"""Path components that wrappers add."""

_PEFT_PREFIX = ("base_model", "model")
_INSIDE_PEFT = re.compile(r"lora_\w+|modules_to_save|original_module|base_layer")
_TRUNKS = frozenset({"model", "transformer", "encoder", "decoder", "backbone"})
"""Names under which the blocks stand where no block tells us so."""

_LORA_ROLES = {
    "lora_A": "lora_A",
    "lora_B": "lora_B",
    "lora_embedding_A": "lora_embedding_A",
    "lora_embedding_B": "lora_embedding_B",
    "lora_magnitude_vector": "lora_magnitude",
}


class Role(NamedTuple):
    """What a parameter is for.

    Attributes
    ----------
    role
        ``"weight"``, one of PEFT's LoRA parts (``"lora_A"``, ``"lora_B"``,
        ``"lora_embedding_A"``, ``"lora_embedding_B"``, ``"lora_magnitude"``,
        ``"lora_bias"``), ``"modules_to_save"``, or ``"adapter"`` for a part of another
        PEFT method.
    adapter
        The adapter that it belongs to, ``""`` for a weight of the model.
    module
        Clean path of the module that it serves.
    """

    role: str
    adapter: str
    module: str


class NamedParameter(NamedTuple):
    """A parameter with its clean name and the other names of the same tensor."""

    name: str
    parameter: torch.nn.Parameter
    aliases: tuple[str, ...]


@functools.lru_cache(maxsize=1 << 16)
def clean_name(name: str) -> str:
    """Drop what wrappers put into a name, at any position, and make it printable.

    Examples
    --------
    >>> from ftlab.probes.naming import clean_name
    >>> clean_name("module._orig_mod.model.norm.weight")
    'model.norm.weight'
    >>> clean_name("layers.0._fsdp_wrapped_module.mlp.weight")
    'layers.0.mlp.weight'
    """
    kept = ".".join(part for part in name.split(".") if part not in WRAPPERS)
    return printable(kept)


def layer_of(name: str) -> str:
    """Name the layer of one parameter, module or adapter, from its name alone.

    The layer is its block, or else the top-level module that it stands in. Use
    `layers_of` where all names are known: it tells the blocks of an encoder and a
    decoder apart.

    Examples
    --------
    >>> from ftlab.probes.naming import layer_of
    >>> layer_of(
    ...     "base_model.model.model.layers.3.self_attn.q_proj.lora_A.default.weight"
    ... )
    'layers.3'
    >>> layer_of("model.embed_tokens.weight")
    'embed_tokens'
    """
    return layers_of((name,))[name]


def layers_of(names: Iterable[str]) -> dict[str, str]:
    """Name the layer of each parameter, seeing all names together.

    Parameters
    ----------
    names
        Names of all parameters of a model, frozen ones included.

    Returns
    -------
    dict
        Layer by name. Two places that would share a label keep as much of their path
        as tells them apart.

    Examples
    --------
    >>> from ftlab.probes.naming import layers_of
    >>> names = ("encoder.block.0.wi.weight", "decoder.block.0.wi.weight")
    >>> list(layers_of(names).values())
    ['encoder.block.0', 'decoder.block.0']
    """
    inside = {name: _module_path(clean_name(name)) for name in names}
    blocks = {name: _block_path(path) for name, path in inside.items()}
    trunks = {block[:-2] for block in blocks.values() if block}
    places = {
        name: _place(inside[name], block, trunks) for name, block in blocks.items()
    }
    labels = _short_labels(set(places.values()))
    return {name: labels[place] for name, place in places.items()}


def named_trainables(model: torch.nn.Module) -> list[NamedParameter]:
    """List the trainable parameters in the model's order, tied ones once."""
    return [entry for entry in named_parameters(model) if entry.parameter.requires_grad]


def named_parameters(model: torch.nn.Module) -> list[NamedParameter]:
    """List all parameters in the model's order, tied ones once with their aliases."""
    found: dict[int, tuple[torch.nn.Parameter, list[str]]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names = found.setdefault(id(parameter), (parameter, []))[1]
        if (clean := clean_name(name)) not in names:
            names.append(clean)
    return [
        NamedParameter(names[0], parameter, tuple(names[1:]))
        for parameter, names in found.values()
    ]


def roles_of(model: torch.nn.Module) -> dict[int, Role]:
    """Tell what each parameter is for, by ``id(parameter)``, through PEFT's classes."""
    roles: dict[int, Role] = {}
    for path, module in model.named_modules():
        module_path = clean_name(path)
        for role, parameter in _peft_parts(module, module_path):
            roles.setdefault(id(parameter), role)
    for name, parameter in model.named_parameters():
        owner = clean_name(name).rpartition(".")[0]
        roles.setdefault(id(parameter), Role("weight", "", owner))
    return roles


def role_of(model: torch.nn.Module, parameter: torch.nn.Parameter) -> Role:
    """Tell what one parameter is for; use `roles_of` for many."""
    return roles_of(model).get(id(parameter), Role("weight", "", ""))


def _module_path(name: str) -> tuple[str, ...]:
    """Path of what is named, without what PEFT puts around it and inside it."""
    parts = tuple(name.partition(" ")[0].split("."))
    # The model that PEFT wraps has the prefix for its whole name.
    if parts[:2] == _PEFT_PREFIX and len(parts) > 2:
        parts = parts[2:]
    for index, part in enumerate(parts):
        if index and _INSIDE_PEFT.fullmatch(part):
            return parts[:index]
    return parts


def _block_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """Path up to and including the outermost numbered block, or nothing."""
    for index in range(1, len(path)):
        if path[index].isdigit() and not path[index - 1].isdigit():
            return path[: index + 1]
    return ()


def _place(
    path: tuple[str, ...], block: tuple[str, ...], trunks: set[tuple[str, ...]]
) -> tuple[str, ...]:
    """Path of the block, or of the first module that leaves the trunk."""
    if block:
        return block
    shared = max((_shared(path, trunk) for trunk in trunks), default=0)
    if not trunks:
        shared = next((i for i, part in enumerate(path) if part not in _TRUNKS), 0)
    return path[: min(shared, len(path) - 1) + 1]


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _short_labels(places: set[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Label each place by the end of its path, longer where two would agree."""
    sizes = {place: 2 if place[-1].isdigit() else 1 for place in places}
    while True:
        labels = {p: ".".join(p[-size:]) for p, size in sizes.items()}
        taken: dict[str, list[tuple[str, ...]]] = {}
        for place, label in labels.items():
            # The blocks of one container are labelled alike, or a view would mix forms.
            taken.setdefault(label, []).append(place)
        clashing = {p[:-1] for group in taken.values() if len(group) > 1 for p in group}
        longer = {
            place: min(size + 1, len(place))
            for place, size in sizes.items()
            if place[:-1] in clashing
        }
        if all(sizes[place] == size for place, size in longer.items()):
            return labels
        sizes |= longer


def _peft_parts(
    module: torch.nn.Module, path: str
) -> Iterator[tuple[Role, torch.nn.Parameter]]:
    """Yield the parameters that PEFT put into ``module`` itself."""
    if "peft" not in sys.modules:
        return
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import ModulesToSaveWrapper

    if isinstance(module, ModulesToSaveWrapper):
        for adapter, copy in module.modules_to_save.items():
            for parameter in copy.parameters():
                yield Role("modules_to_save", adapter, path), parameter
    if isinstance(module, BaseTunerLayer):
        for part in module.adapter_layer_names:
            yield from _tuner_parts(attribute_of(module, part), part, path)


def _tuner_parts(
    container: Any, part: str, path: str
) -> Iterator[tuple[Role, torch.nn.Parameter]]:
    """Yield one kind of part of a tuner layer, for all its adapters."""
    if not isinstance(container, torch.nn.ModuleDict | torch.nn.ParameterDict):
        return
    role = _LORA_ROLES.get(part, "adapter")
    for adapter, entry in container.items():
        if isinstance(entry, torch.nn.Parameter):
            yield Role(role, adapter, path), entry
            continue
        for name, parameter in entry.named_parameters():
            kind = "lora_bias" if name.endswith("bias") else role
            yield Role(kind, adapter, path), parameter
