"""Other PeftModels on the base of the watched one, which are trained in turn with it.

``get_peft_model`` changes the base in place: a second PeftModel on it has the layers of
the first. One that is left over from a cell that was run before does no harm, so both
must be called to train.
"""

import gc
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import torch

from ftlab.probes.compilation.compiled_hooks import in_a_graph
from ftlab.probes.graph.module_hook import ModulePreHook, off_while_scripting
from ftlab.probes.graph.step_calls import marked
from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.torch_private import is_within_backward
from ftlab.records.handle import Handle, HandleStack

TABLE = "one_base"

OWN = "0"
"""The watched model among those that are listened to."""

MANY = 64
"""Tensors that are named at most."""


class ModelsOnOneBase(Probe):
    """Name the tensors that several PeftModels train, in steps in which these ran.

    Going through all objects takes tenths of a second: it is done once, at the first
    batch, where the model is a PeftModel.
    """

    light = False
    table: ClassVar[str] = TABLE

    def __init__(self) -> None:
        self._hooks = HandleStack()
        self._looked = False
        self._models: list[weakref.ref[Any]] = []
        self._called: dict[str, set[str]] = {}

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Take the hooks off at the end."""
        self._looked = False
        return [self._hooks]

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Look for other models, once."""
        if not self._looked:
            self._looked = True
            self._listen(moment.subject.model)
        return ()

    def _listen(self, model: torch.nn.Module) -> None:
        own = _peft_model(model)
        if own is None or in_a_graph(own):
            return
        others = others_on(own)
        if not others:
            return
        self._models = [weakref.ref(own), *others]
        self._hooks.add(off_while_scripting(self._hooks))
        for index, each in enumerate(self._models):
            alive = each()
            if alive is not None and not in_a_graph(alive):
                hook = ModulePreHook(self._hear, alive, str(index))
                add = alive.register_forward_pre_hook
                self._hooks.add(add(hook, with_kwargs=True))

    def _hear(self, which: str, given: Any) -> None:
        model = self._models[int(which)]()
        training = model is not None and model.training
        if training and torch.is_grad_enabled() and not is_within_backward():
            self._called.setdefault(which, set()).update(_active(model))

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Name what both train, where both have been called since the last time."""
        own, mine = self._models[0]() if self._models else None, self._called.get(OWN)
        if own is None or not mine or len(self._called) < 2:
            return ()
        called, self._called = self._called, {}
        rows: dict[str, dict[str, str]] = {}
        for which, names in called.items():
            other = self._models[int(which)]()
            if which != OWN and other is not None:
                found = _shared(own, other, mine & names)
                rows |= {name: {"class": type(other).__name__} for name in found}
        return (marked(moment, TABLE, "param", rows),) if rows else ()


def _peft_model(model: torch.nn.Module) -> Any:
    """Return the outermost PeftModel that the model is, or holds."""
    if "peft" not in sys.modules:
        return None
    from peft import PeftModel

    return next((each for each in model.modules() if isinstance(each, PeftModel)), None)


def _active(model: Any) -> set[str]:
    """Return the adapters that a PeftModel was told to use."""
    active = model.active_adapter
    return {active} if isinstance(active, str) else set(active)


def others_on(own: Any) -> list["weakref.ref[Any]"]:
    """Find other PeftModels on the same base."""
    if not list(_living(own)):
        return []
    gc.collect()  # those that nobody has any more
    return [weakref.ref(each) for each in _living(own)]


def _living(own: Any) -> Iterator[Any]:
    from peft import PeftModel

    kinds: list[type] = [PeftModel]
    for kind in kinds:  # it grows
        kinds += type.__subclasses__(kind)
    base = own.get_base_model()  # of one around another it is that other one
    for each in gc.get_referrers(*kinds):
        if type(each) in kinds and each is not own and each.get_base_model() is base:
            yield each


def _shared(own: Any, other: Any, adapters: set[str]) -> list[str]:
    """Name the trainable tensors of ``adapters`` that both models own."""
    theirs = {id(each) for each in other.parameters()}
    return [
        clean_name(name)
        for name, parameter in own.named_parameters()
        if parameter.requires_grad
        and not adapters.isdisjoint(name.split("."))
        and id(parameter) in theirs
    ][:MANY]
