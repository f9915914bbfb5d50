"""The live module tree, in one walk from the leaves up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ftlab.laboratory.carriers import Carrier
from ftlab.laboratory.modules.storage import Storage, packed_weights, quantised_as
from ftlab.laboratory.modules.wrapping import first_pretrained, wraps
from ftlab.probes.graph.checkpoint_flags import FLAG, LAYER
from ftlab.probes.model.hook_tables import hooks_on
from ftlab.records.attributes import attribute_of
from ftlab.records.model_anatomy import ModuleFacts
from ftlab.records.printable import printable


def modules_of(
    model: torch.nn.Module, carried: Iterable[Carrier], left: Mapping[str, str]
) -> tuple[ModuleFacts, ...]:
    """Describe all modules; ``left`` says by path what one was to be and is not."""
    walk = _Walk(model, carried, left)
    walk.visit(model, "")
    return tuple(each for each in walk.found if each is not None)


class _Walk:
    """One walk: what has been seen on the way, and what was known before."""

    def __init__(self, model: Any, carried: Any, left: Mapping[str, str]) -> None:
        self.found: list[ModuleFacts | None] = []
        self._left = left
        self._inner = first_pretrained(model)
        self._names: dict[int, list[str]] = defaultdict(list)
        for name, parameter in model.named_parameters(remove_duplicate=False):
            self._names[id(parameter)].append(name)
        self._adapters: dict[int, tuple[str, ...]] = {}
        for each in carried:
            said = tuple(_adapter_words(each, name) for name in each.adapters)
            self._adapters[id(each.module)] = (
                self._adapters.get(id(each.module), ()) + said
            )
        self._paths: dict[int, str] = {}
        self._counted: set[int] = set()

    def visit(self, module: torch.nn.Module, path: str) -> tuple[int, Storage]:
        """Describe a module; return its number, and what was not counted before."""
        number = len(self.found)
        self.found.append(None)
        if id(module) in self._paths:
            same = self._paths[id(module)] or "the model"
            self.found[number] = ModuleFacts(path, _kind(module), same_as=same)
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
                index, below = self.visit(child, _joined(path, printable(name)))
                children.append((printable(name), index))
                shown.add(below)
                up.add(below)
        on_way = not path or self._inner.startswith(f"{path}.")
        holds = self._inner.removeprefix(path).lstrip(".") if on_way else ""
        self.found[number] = ModuleFacts(
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
            hooks=_hooks(module),
            ties=tuple(self._tied(path, own)),
            checkpointed=_checkpointed(module),
            wraps=wraps(module, holds=holds),
            left=self._left.get(path, ""),
            children=tuple(children),
        )
        return number, up

    def _kept(
        self, module: Any, own: Mapping[str, Any], buffers: Mapping[str, Any]
    ) -> tuple[Storage, Storage]:
        """Count its own tensors: all of them, and those that none before it had."""
        here, new = Storage(), Storage()
        learning = [(each, each.requires_grad) for each in own.values()]
        for tensor, learns in (*learning, *((each, None) for each in buffers.values())):
            here.take(tensor, learns=learns)
            if id(tensor) not in self._counted:
                self._counted.add(id(tensor))
                new.take(tensor, learns=learns)
        packed = packed_weights(module, buffers)
        here.weights += packed
        new.weights += packed
        return here, new

    def _tied(self, path: str, own: Mapping[str, Any]) -> Iterable[str]:
        for name, parameter in own.items():
            names = self._names.get(id(parameter), ())
            others = [printable(e) for e in names if e != _joined(path, name)]
            more = f" and {len(others) - 2} more" if len(others) > 2 else ""
            if others:
                yield f"{name} = {', '.join(others[:2])}{more}"


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _kind(module: torch.nn.Module) -> str:
    """Return a class; those of PEFT's layers have torch's names: ``lora.Linear``."""
    kind = type(module)
    parts = kind.__module__.split(".")
    tuner = parts[:2] == ["peft", "tuners"] and hasattr(torch.nn, kind.__name__)
    return (f"{parts[2]}." if tuner else "") + printable(kind.__name__)


def _hooks(module: torch.nn.Module) -> tuple[str, ...]:
    """List the hooks of others; ftlab's own are left out."""
    found = [each for each in hooks_on(module) if each[3] != "ftlab"]
    said = (f"{kind}: {name} ({place or by})" for kind, name, place, by in found)
    return tuple(map(printable, said))


def _adapter_words(carrier: Carrier, name: str) -> str:
    words: list[str] = [carrier.state(name)]
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

    The flag that transformers sets works where the class looks at it: a layer's does.
    """
    kinds = {each.__name__ for each in type(module).__mro__}
    marked = vars(module).get(FLAG) is True and LAYER in kinds
    if not marked and "CheckpointWrapper" not in kinds:
        return ""
    function = vars(module).get("_gradient_checkpointing_func")
    reentrant = getattr(function, "keywords", {}).get("use_reentrant") is True
    return "computed again in backward" + ", reentrant" * reentrant
