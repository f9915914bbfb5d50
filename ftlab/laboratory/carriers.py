"""Modules that carry adapters, of every method, and what they were put on."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.laboratory.bottlenecks import (
    Bottleneck,
    bottlenecks,
    caller_of,
    held_adapters,
    library_layers,
    silent,
)
from ftlab.probes.adapter.adapter_tree import Holder, holders
from ftlab.records.adapter_anatomy import AdapterState
from ftlab.records.attributes import attribute_of

Off = Callable[[], contextlib.AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A module that weighs adapters against each other.

    Attributes
    ----------
    name, module
        Where the adapters are, and what weighs them while it runs.
    adapters, kind
        Their names, in order, and what weighs them, in a word.
    """

    name: str
    module: torch.nn.Module
    adapters: tuple[str, ...]
    kind: str = "softmax"


@dataclass(frozen=True, slots=True)
class Carrier:
    """A module that has been put in another one's place or beside it as an adapter.

    Attributes
    ----------
    name
        Path, without what wrappers put before it.
    module
        PEFT's, or the one whose output has what the adapter adds.
    inner
        What it was put on; ``None`` where there is none, as of a prompt.
    adapters
        Parameters by adapter.
    methods
        Method by adapter, where that is none of PEFT's.
    off
        Switches the adapters of a carrier without an inner module off for a while.
    entries
        Modules whose first input is what the adapter is put behind.
    choice
        What weighs several against each other.
    """

    name: str
    module: Any
    inner: Any
    adapters: dict[str, list[torch.nn.Parameter]]
    methods: Mapping[str, str] = field(default_factory=dict)
    off: Off | None = None
    entries: tuple[torch.nn.Module, ...] = ()
    choice: Choice | None = None

    def without(self, args: Any, kwargs: Any) -> Any:
        """Call what it was put on, or itself while its adapters are off."""
        if self.inner is None and self.off is not None:
            with self.off() as called:
                output = self.module(*args, **kwargs)
            if called == []:
                msg = "its up-projection is not called as a module"
                raise RuntimeError(msg)
            return output
        try:
            return self.inner(*args, **kwargs)
        except TypeError:  # arguments that are the adapter's alone
            return self.inner(*args)

    def merged(self) -> bool:
        """Say whether an adapter is in the weights of what it was put on."""
        return any(self.state(each) == "merged" for each in self.adapters)

    def state(self, adapter: str) -> AdapterState:
        """Say what comes of an adapter now."""
        if self.off is not None:
            runs = _running(self.module)
            return "active" if runs is None or adapter in runs else "inactive"
        if self.inner is None:  # a prompt is before the model, or is not
            return "active" if self.module.active_adapter == adapter else "inactive"
        if adapter in (attribute_of(self.module, "merged_adapters") or ()):
            return "merged"
        off = getattr(owner_of(self.module), "adapters_disabled", False)  # X-LoRA
        if off or attribute_of(self.module, "disable_adapters", False):
            return "disabled"
        active = attribute_of(self.module, "active_adapters", None)
        if active is None:
            active = attribute_of(self.module, "active_adapter", adapter)
        names = [active] if isinstance(active, str) else list(active or ())
        return "active" if adapter in names else "inactive"


def carriers(model: torch.nn.Module) -> Iterator[Carrier]:
    """Yield what carries adapters, in the model's order, prompts last.

    An adapter's parameters are those in the module, and not in what it was put on, that
    have the adapter's name in theirs: so PEFT names them in every method. Bottleneck
    adapters are found by their structure.
    """
    names = adapter_names(model)
    taken: set[int] = set()
    for path, module in model.named_modules():
        inner = _inner(module)
        if inner is None:
            continue
        inners = {id(parameter) for parameter in inner.parameters()}
        found = _by_adapter(module, names, inners)
        if found:
            taken |= {id(p) for each in found.values() for p in each}
            yield Carrier(shared_name(path), module, inner, found)
    for holder in holders(model):
        yield from _beside(holder, taken)
        prompts = attribute_of(holder.module, "prompt_encoder")
        for name, prompt in dict(prompts.items() if prompts else {}).items():
            path = ".".join(filter(None, (holder.path, "prompt_encoder")))
            yield Carrier(path, holder.module, None, {name: list(prompt.parameters())})
    for path, layer in library_layers(model):
        yield _of_a_library(path, layer)
    yield from _by_hand(model, bottlenecks(model, taken))


def owner_of(module: Any) -> Any:
    """Return whose method X-LoRA has made the forward of a layer."""
    return getattr(vars(module).get("forward"), "__self__", None)


def adapter_names(model: torch.nn.Module) -> list[str]:
    """Return the names of all adapters that are configured."""
    return list(dict.fromkeys(n for each in holders(model) for n in each.configs))


def _beside(holder: Holder, taken: set[int]) -> Iterator[Carrier]:
    """Yield what PEFT trains beside the model and no layer has: gates, a backbone."""
    tuner = attribute_of(holder.module, "base_model")
    if not hasattr(tuner, "peft_config"):
        return
    within = taken | {id(p) for p in holder.root.parameters()}
    first = next(iter(holder.configs))
    for name, child in tuner.named_children():
        found: dict[str, list[torch.nn.Parameter]] = {}
        for path, parameter in child.named_parameters():
            key = path.partition(".")[0]
            adapter = key if isinstance(child, torch.nn.ModuleDict) else first
            if id(parameter) not in within:
                found.setdefault(adapter, []).append(parameter)
        if found:
            taken |= {id(p) for each in found.values() for p in each}
            yield Carrier(name, holder.module, None, found)


def _of_a_library(path: str, layer: Any) -> Carrier:
    """Return a layer that knows which of its bottlenecks run."""
    held = held_adapters(layer)
    found = {name: list(each.module.parameters()) for name, each in held.items()}
    methods = dict.fromkeys(found, "BOTTLENECK")
    adapters = {id(p) for each in found.values() for p in each}
    named = [e for e in layer.children() if isinstance(e, torch.nn.ModuleDict)]
    for child in named:
        for name, fusion in child.items():
            own = [p for p in fusion.parameters() if id(p) not in adapters]
            if own and name not in found:
                found[name], methods[name] = own, "ADAPTERFUSION"
    adapters |= {id(p) for each in found.values() for p in each}
    # in BERT the layer is the dense one itself, behind which its adapters are
    alone = all(p.dim() < 2 or id(p) in adapters for p in layer.parameters())
    name = shared_name(path)
    fused = next(iter(_fused(layer.get_active_setup()).values()), ())
    chosen = tuple(each for each in fused if each in held)
    return Carrier(
        name,
        layer,
        None,
        found,
        methods,
        partial(_without_setup, layer),
        (layer,) if alone else tuple(each.module for each in held.values()),
        Choice(name, layer, chosen, "AdapterFusion") if chosen else None,
    )


@contextlib.contextmanager
def _without_setup(layer: Any) -> Iterator[None]:
    config = layer.adapters_config
    setup = config.active_setup
    config.active_setup = None
    try:
        yield
    finally:
        config.active_setup = setup


def _running(module: Any) -> set[str] | None:
    """Return which adapters and fusions a layer applies; ``None``: those it calls."""
    if not hasattr(type(module), "get_active_setup"):
        return None
    setup = module.get_active_setup()
    return set() if setup is None else {*setup.flatten(), *_fused(setup)}


def _fused(setup: Any) -> dict[str, tuple[str, ...]]:
    """Return the adapters of each fusion in a composition, by the fusion's name."""
    if setup is None or isinstance(setup, str):
        return {}
    children = list(setup)
    found = {key: value for each in children for key, value in _fused(each).items()}
    if isinstance(getattr(setup, "name", None), str):
        last = (c if isinstance(c, str) else c.last() for c in children)
        found[setup.name] = tuple(last)
    return found


def _by_hand(model: torch.nn.Module, found: list[Bottleneck]) -> Iterator[Carrier]:
    """Yield bottlenecks that somebody has written, each where what it adds is seen."""
    listed = torch.nn.ModuleDict | torch.nn.ModuleList
    beside: dict[str, list[str]] = {}
    for path in (each.path for each in found):
        parent, _, key = path.rpartition(".")
        if isinstance(model.get_submodule(parent), listed):
            beside.setdefault(parent, []).append(key)
    for each in found:
        parent = each.path.rpartition(".")[0]
        keys = tuple(beside.get(parent, ()))
        mixer = caller_of(model, each.path)
        name = _name(model, each.path)
        yield Carrier(
            shared_name(each.path),
            each.module if each.residual else mixer,
            None,
            {name: list(each.module.parameters())},
            {name: "BOTTLENECK"},
            partial(silent, (each.up,)),
            (each.module,),
            Choice(shared_name(parent), mixer, keys) if len(keys) > 1 else None,
        )


def _name(model: torch.nn.Module, path: str) -> str:
    """Return the key of the innermost dictionary around a module, or a word."""
    parts = path.split(".")
    for at, part in reversed([*enumerate(parts)]):
        around = model.get_submodule(".".join(parts[:at]))
        if isinstance(around, torch.nn.ModuleDict) and not part.isdigit():
            return part
    return "bottleneck"


def _inner(module: torch.nn.Module) -> Any:
    """Return what a module of PEFT's was put on."""
    if not type(module).__module__.startswith("peft."):
        return None
    for name in ("base_layer", "original_module", "original_layer", "model"):
        held = attribute_of(module, name)
        if isinstance(held, torch.nn.Module):
            return held if _wraps_one(module) else None
    return None


def _wraps_one(module: torch.nn.Module) -> bool:
    """Say whether it stands in for one module, and not around the whole model."""
    from peft import PeftModel
    from peft.tuners.tuners_utils import BaseTuner

    # AdaptionPrompt's model is no BaseTuner, and has a configuration as these have.
    around = isinstance(module, PeftModel | BaseTuner)
    return not around and not hasattr(module, "peft_config")


def _by_adapter(
    module: torch.nn.Module, names: list[str], inner: set[int]
) -> dict[str, list[torch.nn.Parameter]]:
    found: dict[str, list[torch.nn.Parameter]] = {}
    own = [(n, p) for n, p in module.named_parameters() if id(p) not in inner]
    for name, parameter in own:
        parts = name.split(".")
        holder = next((each for each in names if each in parts), None)
        if holder is None and len(names) == 1:
            holder = names[0]
        if holder is not None:
            found.setdefault(holder, []).append(parameter)
    return found
