"""Modules that carry adapters, of every method, and what they were put on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.probes.adapter.adapter_tree import holders
from ftlab.records.adapter_anatomy import AdapterState
from ftlab.records.attributes import attribute_of


@dataclass(frozen=True, slots=True)
class Carrier:
    """A module that PEFT has put in another one's place, or beside it.

    Attributes
    ----------
    name
        Path, without what wrappers put before it.
    module
        PEFT's.
    inner
        What it was put on; ``None`` where there is none, as of a prompt.
    adapters
        Parameters by adapter.
    """

    name: str
    module: Any
    inner: Any
    adapters: dict[str, list[torch.nn.Parameter]]

    def merged(self) -> bool:
        """Say whether an adapter is in the weights of what it was put on."""
        return any(self.state(each) == "merged" for each in self.adapters)

    def state(self, adapter: str) -> AdapterState:
        """Say what comes of an adapter now."""
        if self.inner is None:  # a prompt is before the model, or is not
            return "active" if self.module.active_adapter == adapter else "inactive"
        if adapter in (attribute_of(self.module, "merged_adapters") or ()):
            return "merged"
        if attribute_of(self.module, "disable_adapters", False):
            return "disabled"
        active = attribute_of(self.module, "active_adapters", None)
        if active is None:
            active = attribute_of(self.module, "active_adapter", adapter)
        names = [active] if isinstance(active, str) else list(active or ())
        return "active" if adapter in names else "inactive"


def carriers(model: torch.nn.Module) -> Iterator[Carrier]:
    """Yield what carries adapters, in the model's order, prompts last.

    An adapter's parameters are those in the module, and not in what it was put on, that
    have the adapter's name in theirs: so PEFT names them in every method.
    """
    names = adapter_names(model)
    for path, module in model.named_modules():
        inner = _inner(module)
        if inner is None:
            continue
        inners = {id(parameter) for parameter in inner.parameters()}
        found = _by_adapter(module, names, inners)
        if found:
            yield Carrier(shared_name(path), module, inner, found)
    for holder in holders(model):
        prompts = attribute_of(holder.module, "prompt_encoder")
        for name, prompt in dict(prompts.items() if prompts else {}).items():
            path = ".".join(filter(None, (holder.path, "prompt_encoder")))
            yield Carrier(path, holder.module, None, {name: list(prompt.parameters())})


def adapter_names(model: torch.nn.Module) -> list[str]:
    """Return the names of all adapters that are configured."""
    return list(dict.fromkeys(n for each in holders(model) for n in each.configs))


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
