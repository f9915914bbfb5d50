"""Calls of copies of the model that run the model itself.

``copy.deepcopy`` copies what an instance holds, and a function as itself. Where
``forward`` was set on the instance, as a closure or as what `torch.compile` returned,
the copy has weights of its own and the forward of the original.
"""

import gc
import itertools
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.graph.module_hook import ModulePreHook, off_while_scripting
from ftlab.probes.graph.stand_ins import modules_behind
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.records.attributes import attribute_of
from ftlab.records.handle import Handle, HandleStack
from ftlab.records.step import Column

MANY = 64
"""Copies that are listened to at most."""

TENSORS, ELEMENTS, COMPARED = 8, 16, 32
"""Trained weights, and elements of each, that tell a copy from the model; and weights
of all copies together."""

Pair = tuple["weakref.ref[torch.nn.Module]", "weakref.ref[torch.nn.Module]"]
"""A copy, and the module whose forward it has."""


class CopiedForwards(Probe):
    """Count the calls of copies, where a forward was set on an instance.

    Going through all objects takes tenths of a second, so copies are looked for where
    a module of the model has such a forward, and ever more rarely.
    """

    columns: ClassVar[Sequence[Column]] = (
        Column("borrowed_calls", "1", "Calls of copies that ran the model's forward."),
        Column("copies_apart", "1", "1 if weights of theirs were not the model's."),
    )

    def __init__(self) -> None:
        self._hooks = HandleStack()
        self._pairs: dict[int, Pair] = {}
        self._calls: Counter[str] = Counter()
        self._counted = 0
        self._looked = -1
        self._step = -1
        self._kept: list[Reading] = []

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Look for copies that are there already."""
        yield self
        self._pairs.clear()
        self._look(subject.model)

    def remove(self) -> None:
        """Take the hooks off."""
        self._hooks.remove()

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Look for new copies at steps 0, 1, 2, 4, 8, and so on."""
        if moment.step.bit_count() < 2 and moment.step != self._looked:
            self._looked = moment.step
            self._look(moment.subject.model)
        return ()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Compare the weights in the steps in which a copy was called."""
        self._counted = 0
        return self._compare()

    def on_handover(self, moment: Moment) -> Iterable[Reading]:
        """Compare for calls after the last update; every time of one step."""
        if moment.step != self._step:
            self._step, self._kept = moment.step, []
        self._kept += self._compare()
        return tuple(self._kept)

    def _compare(self) -> Iterable[Reading]:
        called, self._calls = self._calls, Counter()
        self._counted += called.total()
        flags = list(itertools.islice(self._apart(called), COMPARED))
        if not flags:
            return ()
        together = torch.stack([each.to(flags[0].device) for each in flags])

        def finish(values: NDArray[np.float32]) -> Iterable[dict[str, float]]:
            yield {"copies_apart": float(values.any())}

        return (Reading(together.float(), finish),)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Give the calls of the step, where there are copies."""
        return {"borrowed_calls": float(self._counted)} if self._pairs else {}

    def _look(self, model: torch.nn.Module) -> None:
        for copied, module in copies_of(innermost(model)):
            if id(copied) in self._pairs or len(self._pairs) == MANY:
                continue
            if not self._pairs:
                self._hooks.add(off_while_scripting(self._hooks))
            self._pairs[id(copied)] = (weakref.ref(copied), weakref.ref(module))
            hook = ModulePreHook(self._hear, copied, str(id(copied)))
            add = copied.register_forward_pre_hook
            self._hooks.add(add(hook, with_kwargs=True))

    def _hear(self, which: str, given: Any) -> None:
        self._calls[which] += 1

    def _apart(self, called: Iterable[str]) -> Iterator[torch.Tensor]:
        """Yield, on the device, whether copies hold other values than the model."""
        for held in map(self._pairs.__getitem__, map(int, called)):
            copied, module = (each() for each in held)
            if copied is not None and module is not None:
                yield from _differences(module, copied)


def copies_of(
    model: torch.nn.Module,
) -> Iterator[tuple[torch.nn.Module, torch.nn.Module]]:
    """Yield other modules that hold the very forward of one in ``model``, and that one.

    Their weights are others, and no compiled graph may begin at them: a hook would be
    in it.
    """
    forwards = {
        id(forward): (forward, module)
        for module in model.modules()
        if type(forward := vars(module).get("forward")) is FunctionType
        and any(each is module for each in modules_behind(forward))
    }
    if not forwards:
        return
    held = [forward for forward, _ in forwards.values()]
    found = gc.get_referrers(*held)
    found += gc.get_referrers(*[each for each in found if type(each) is dict])
    for copied in found:
        if not issubclass(type(copied), torch.nn.Module):
            continue
        _, module = forwards.get(id(vars(copied).get("forward")), (None, None))
        if module is not None and _is_copy(copied, module):
            yield copied, module


def _is_copy(copied: torch.nn.Module, module: torch.nn.Module) -> bool:
    if copied is module or type(copied) is not type(module):
        return False
    if attribute_of(copied, "_is_replica", False) or _is_compiled(copied):
        return False
    own, other = _places(copied), _places(module)
    return bool(own) and own.isdisjoint(other)


def _is_compiled(module: torch.nn.Module) -> bool:
    inside = gc.get_referrers(module)
    wrapped = any(type(e) is dict and e.get("_orig_mod") is module for e in inside)
    return wrapped or vars(module).get("_compiled_call_impl") is not None


def _places(module: torch.nn.Module) -> set[int]:
    held = list(module.parameters())
    plain = [e for e in held if type(e.data) is torch.Tensor and e.numel()]
    return {id(each) for each in held} | {each.data_ptr() for each in plain}


def _differences(
    module: torch.nn.Module, copied: torch.nn.Module
) -> Iterator[torch.Tensor]:
    theirs = dict(copied.named_parameters())
    trained = [
        (each, theirs[name])
        for name, each in module.named_parameters()
        if each.requires_grad and name in theirs
    ]
    for one, two in trained[:: max(1, len(trained) // TENSORS)]:
        if one.shape == two.shape and one.device == two.device:
            few, others = (each.detach().reshape(-1)[:ELEMENTS] for each in (one, two))
            yield (few != others).any()
