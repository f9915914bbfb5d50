"""Where PEFT is in a model: its wrappers from outside to inside, and their layers.

A model can carry adapters in four ways: wrapped by ``PeftModel`` (also inside a module
of one's own), by a second ``PeftModel`` around the first one, through transformers'
``add_adapter``, and through ``inject_adapter_in_model``. All keep a ``peft_config``
where they start; that is what is looked for here.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.probes.inventory import spots_of
from ftlab.probes.naming import clean_name
from ftlab.records.attributes import attribute_of, has_attribute

NAMES = 512
"""At most so many exact names are kept of one list."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A place at which a model carries PEFT configurations.

    Attributes
    ----------
    path
        Clean path of ``module`` in the watched model, ``""`` for the model itself.
    kind
        Class of the module, such as ``"PeftModelForCausalLM"``.
    configs
        PEFT's configuration objects by adapter.
    root, root_path
        The module whose names the configurations speak of, and its clean path.
    """

    path: str
    module: torch.nn.Module
    kind: str
    configs: dict[str, Any]
    root: torch.nn.Module
    root_path: str


@dataclass(frozen=True, slots=True)
class Layer:
    """A module that an adapter was put on.

    Attributes
    ----------
    name
        Clean path in the watched model.
    module
        PEFT's layer.
    adapters
        The adapters that it holds.
    parameter
        Name of the base's parameter that is adapted, ``""`` where it is the weight.
    """

    name: str
    module: Any
    adapters: tuple[str, ...]
    parameter: str


def holders(model: torch.nn.Module) -> list[Holder]:
    """List what carries PEFT configurations, outermost first."""
    if "peft" not in sys.modules:
        return []
    from peft import PeftMixedModel, PeftModel
    from peft.tuners.tuners_utils import BaseTuner

    wrappers = PeftModel | PeftMixedModel
    found: list[Holder] = []
    covered: list[Any] = []
    module: Any
    for path, module in _configured(model):
        configs = _configs(module)
        if not configs or isinstance(module, BaseTuner):
            continue
        # A tuner puts its configurations on the model below it as well.
        wraps = isinstance(module, wrappers)
        if not wraps and any(module is root for root in covered):
            continue
        root: Any = module
        root_path = path
        if wraps:
            root, root_path = module.base_model, _joined(path, "base_model")
        if isinstance(root, BaseTuner):
            root, root_path = root.model, _joined(root_path, "model")
        covered.append(root)
        where, kind = clean_name(path), type(module).__name__
        found.append(Holder(where, module, kind, configs, root, clean_name(root_path)))
    return found


def _configured(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield the modules that may carry configurations, each once."""
    of_class: dict[type, bool] = {}
    known: set[int] = set()
    for spot in spots_of(model):
        module = spot.module()
        if module is None or id(module) in known:
            continue
        kind = type(module)
        if kind not in of_class:
            of_class[kind] = any("peft_config" in vars(each) for each in kind.__mro__)
        if of_class[kind] or "peft_config" in vars(module):
            known.add(id(module))
            yield spot.path, module


def adapted_layers(model: torch.nn.Module) -> Iterator[Layer]:
    """Yield every layer that PEFT put adapters on."""
    if "peft" not in sys.modules:
        return
    from peft.tuners.tuners_utils import BaseTunerLayer

    for path, module in model.named_modules():
        if not isinstance(module, BaseTunerLayer) or path.endswith("token_adapter"):
            continue
        adapters: dict[str, None] = {}
        for part in module.adapter_layer_names:
            container = attribute_of(module, part)
            if isinstance(container, torch.nn.ModuleDict | torch.nn.ParameterDict):
                adapters |= dict.fromkeys(container.keys())
        parameter = str(attribute_of(module, "parameter_name", "") or "")
        # Several parameters of one module are adapted by wrappers inside one another,
        # and so is a layer that adapters of several methods share.
        yield Layer(_unnested(clean_name(path)), module, tuple(adapters), parameter)


def plain_modules(root: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield the modules below ``root`` by the names they had before PEFT came.

    A layer with an adapter is yielded as PEFT's layer; what is inside it is not, except
    for the children of the module that it was put on.
    """
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    waiting = [("", root)]
    while waiting:
        path, module = waiting.pop()
        if path:
            yield clean_name(path), module
        inner: Any = module
        if isinstance(module, BaseTunerLayer):
            inner = module.get_base_layer()
        elif isinstance(module, AuxiliaryTrainingWrapper):
            inner = module.original_module
        children = list(inner.named_children())
        waiting += [(_joined(path, n), child) for n, child in reversed(children)]


def under_adapters(module: Any) -> Any:
    """Return the layer below all adapters."""
    while has_attribute(module, "base_layer"):
        module = module.base_layer
    return module


def method_of(config: Any) -> str:
    """Return the kind of adapter that a configuration is for, such as ``"LORA"``."""
    kind = getattr(config, "peft_type", "")
    return str(getattr(kind, "value", kind))


def wanted_targets(config: Any) -> Any:
    """Return what ``target_modules`` asks for: text is a regular expression.

    But for prompts that are put into attention: there it is the name of a module.
    """
    wanted = getattr(config, "target_modules", None)
    named = method_of(config) == "ADAPTION_PROMPT"
    return [wanted] if named and isinstance(wanted, str) else wanted


def bounded(names: list[str], most: int = NAMES) -> dict[str, Any]:
    """Count names and keep the first ones."""
    return {"count": len(names), "names": names[:most]}


def pattern_of(name: str) -> str:
    """Write a name without its numbers.

    Examples
    --------
    >>> from ftlab.probes.adapter.adapter_tree import pattern_of
    >>> pattern_of("model.layers.3.self_attn.q_proj")
    'model.layers.#.self_attn.q_proj'
    """
    return ".".join("#" if part.isdigit() else part for part in name.split("."))


def _configs(module: torch.nn.Module) -> dict[str, Any]:
    # A property of PeftModel, an attribute that PEFT sets on other modules.
    configs = attribute_of(module, "peft_config")
    if isinstance(configs, dict):
        return {str(name): config for name, config in configs.items()}
    return {}


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _unnested(name: str) -> str:
    while name.endswith(".base_layer"):
        name = name.removesuffix(".base_layer")
    return name
