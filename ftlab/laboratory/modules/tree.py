"""The live module tree, in one walk from the leaves up.

Who calls whom: `modules_of` asks `storage`, `hung` and `wrapping` of each module once;
adapters come from `ftlab.laboratory.carriers`, ties from `ftlab.probes.naming`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ftlab.laboratory.carriers import Carrier
from ftlab.laboratory.modules.hung import hooks_on
from ftlab.laboratory.modules.storage import Storage, packed_weights, quantised_as
from ftlab.laboratory.modules.wrapping import first_pretrained, wraps
from ftlab.probes.graph.checkpoint_flags import FLAG, LAYER
from ftlab.records.attributes import attribute_of
from ftlab.records.model_anatomy import ModuleFacts, Tie
from ftlab.records.printable import printable


def modules_of(
    model: torch.nn.Module, carried: Iterable[Carrier], left: Mapping[str, str]
) -> tuple[ModuleFacts, ...]:
    """Describe all modules, the model first.

    Parameters
    ----------
    carried
        What carries adapters.
    left
        By path, what a module was to be and is not.
    """
    return _Walk(model, carried, left).modules()


class _Walk:
    """One walk: what has been seen on the way, and what was known before."""

    def __init__(
        self,
        model: torch.nn.Module,
        carried: Iterable[Carrier],
        left: Mapping[str, str],
    ) -> None:
        self._model, self._left = model, left
        self._inner, _ = first_pretrained(model)
        self._adapters = _adapters(carried)
        self._ties = _ties(model)
        self._found: list[ModuleFacts | None] = []
        self._paths: dict[int, str] = {}
        self._counted: set[int] = set()

    def modules(self) -> tuple[ModuleFacts, ...]:
        self._visit(self._model, "")
        return tuple(each for each in self._found if each is not None)

    def _visit(self, module: torch.nn.Module, path: str) -> tuple[int, Storage]:
        """Describe a module; return its number, and what no one above has counted."""
        number = len(self._found)
        self._found.append(None)
        if id(module) in self._paths:
            kind, first = _kind(module), self._paths[id(module)]
            same = first or "the model"
            self._found[number] = ModuleFacts(path, kind, same_as=same)
            return number, Storage()
        self._paths[id(module)] = path
        held = vars(module)
        own = {n: p for n, p in held["_parameters"].items() if p is not None}
        buffers = {n: b for n, b in held["_buffers"].items() if b is not None}
        here, up = self._kept(module, own, buffers)
        shown = Storage()
        shown.add(here)
        children = []
        for name, child in held["_modules"].items():
            if child is not None:
                inside = f"{path}.{name}" if path else name
                index, below = self._visit(child, printable(inside))
                children.append((printable(name), index))
                shown.add(below)
                up.add(below)
        holds = self._inner.removeprefix(path).lstrip(".")
        on_way = not path or self._inner.startswith(f"{path}.")
        self._found[number] = ModuleFacts(
            path=path,
            kind=_kind(module),
            own=here.weights,
            parameters=shown.weights,
            trainable=shown.trainable,
            bytes=sum(shown.stored.values()),
            dtypes=tuple(name for name, _ in here.dtypes.most_common()),
            devices=tuple(name for name, _ in here.devices.most_common()),
            stored=tuple(sorted(shown.stored.items())),
            quantised=quantised_as(module, own | buffers),
            adapters=self._adapters.get(id(module), ()),
            hooks=hooks_on(module, own),
            ties=self._tied(path, own),
            checkpointed=_checkpointed(module),
            wraps=wraps(module, holds=holds if on_way else ""),
            left=self._left.get(path, ""),
            children=tuple(children),
        )
        return number, up

    def _kept(
        self, module: Any, own: Mapping[str, Any], buffers: Mapping[str, Any]
    ) -> tuple[Storage, Storage]:
        """Count its own tensors: all of them, and those that none before it had."""
        here, new = Storage(), Storage()
        packed = packed_weights(module, buffers)
        learning = [(each, each.requires_grad) for each in own.values()]
        for tensor, learns in (*learning, *((each, None) for each in buffers.values())):
            here.take(tensor, learns=learns)
            if id(tensor) not in self._counted:
                self._counted.add(id(tensor))
                new.take(tensor, learns=learns)
        here.weights += packed
        new.weights += packed
        return here, new

    def _tied(self, path: str, own: Mapping[str, Any]) -> tuple[Tie, ...]:
        found = []
        for name, parameter in own.items():
            names = self._ties.get(id(parameter), ())
            here = f"{path}.{name}" if path else name
            others = tuple(printable(each) for each in names if each != here)
            if others:
                found.append(Tie(name, others))
        return tuple(found)


def _kind(module: torch.nn.Module) -> str:
    """Return a class; those of PEFT's layers have torch's names: ``lora.Linear``."""
    kind = type(module)
    parts = kind.__module__.split(".")
    tuner = parts[2] + "." if parts[:2] == ["peft", "tuners"] and parts[3:] else ""
    own = tuner if hasattr(torch.nn, kind.__name__) else ""
    return own + printable(kind.__name__)


def _ties(model: torch.nn.Module) -> dict[int, list[str]]:
    """Return the names of each parameter that has several."""
    found: dict[int, list[str]] = defaultdict(list)
    for name, parameter in model.named_parameters(remove_duplicate=False):
        found[id(parameter)].append(name)
    return {key: names for key, names in found.items() if len(names) > 1}


def _adapters(carried: Iterable[Carrier]) -> dict[int, tuple[str, ...]]:
    """Say which adapters are on a module, and what comes of them now."""
    found: dict[int, tuple[str, ...]] = {}
    for each in carried:
        said = tuple(_adapter_words(each, name) for name in each.adapters)
        found[id(each.module)] = found.get(id(each.module), ()) + said
    return found


def _adapter_words(carrier: Carrier, name: str) -> str:
    words = [carrier.state(name)]
    if hasattr(carrier.module, "original_module"):
        words.append("saved whole")
    for attribute, sign in (("r", "r "), ("scaling", "x ")):
        values = attribute_of(carrier.module, attribute)
        value = values.get(name) if isinstance(values, dict) else None
        if isinstance(value, int | float):
            words.append(f"{sign}{value:.4g}")
    return f"{printable(name)}: {', '.join(words)}"


def _checkpointed(module: torch.nn.Module) -> str:
    """Say whether a module is computed again in backward, as far as it can be seen.

    The flag that transformers sets works where the class looks at it: a layer's does;
    on others it only says that checkpointing was asked for.
    """
    kinds = {each.__name__ for each in type(module).__mro__}
    if "CheckpointWrapper" in kinds:
        return "computed again in backward"
    if vars(module).get(FLAG) is not True or LAYER not in kinds:
        return ""
    function = vars(module).get("_gradient_checkpointing_func")
    keywords = getattr(function, "keywords", {})
    reentrant = keywords.get("use_reentrant") is True
    return "computed again in backward" + (", reentrant" if reentrant else "")
