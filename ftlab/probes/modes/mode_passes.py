"""Passes of teachers, and of what learns beside them, within one training step.

Who calls whom: `ftlab.probes.modes.mode_teachers` puts the hooks on for a step, and
asks here which passes were a teacher's. A teacher is given what the student is given,
and what it says is not given to the student: so a frozen tower, whose features are
learned from, is told apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.graph.module_hook import ModulePreHook
from ftlab.probes.taps.rebinding import stand_in
from ftlab.probes.torch_private import is_within_backward, scripting
from ftlab.records.handle import HandleStack, rebind

MANY = 256
"""Calls of one step that are kept at most: generating text takes many."""

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class PassCall:
    """One call of a module.

    Attributes
    ----------
    graph
        Whether gradients were on.
    dropouts
        How many dropouts in it were on.
    inputs
        The tensors that it was given, held until the step's update.
    """

    path: str
    graph: bool
    dropouts: int
    inputs: tuple[torch.Tensor, ...]

    @property
    def keys(self) -> frozenset[Key]:
        """Tell the tensors apart by where they lie."""
        return frozenset(map(_key, self.inputs))

    @property
    def floats(self) -> frozenset[Key]:
        """The same of those that another module can have put out."""
        return frozenset(_key(t) for t in self.inputs if t.is_floating_point())


@dataclass(slots=True)
class Passes:
    """The calls of one step, in order, while the hooks are on."""

    calls: list[PassCall] = field(default_factory=list)
    hooks: HandleStack = field(default_factory=HandleStack)

    def listen(
        self, module: torch.nn.Module, path: str, dropouts: Callable[[], int]
    ) -> None:
        """Keep the calls of ``module``; ``dropouts`` counts those that are on."""

        def tell(name: str, given: Any) -> None:
            if len(self.calls) < MANY and not is_within_backward():
                graph = torch.is_grad_enabled()
                on = 0 if graph else dropouts()
                self.calls.append(PassCall(name, graph, on, tuple(_tensors(given))))

        hook = ModulePreHook(tell, module, path)
        self.hooks.add(module.register_forward_pre_hook(hook, with_kwargs=True))

    def stop_while_scripting(self) -> None:
        """Take the hooks off before torch makes a script: they would be in it."""

        def around(original: Any, *args: Any, **kwargs: Any) -> Any:
            self.hooks.remove()
            return original(*args, **kwargs)

        instead = stand_in(scripting.create_script_module, around)
        self.hooks.add(rebind(scripting, "create_script_module", instead))

    def of_teacher(self, path: str, learners: Sequence[str]) -> list[PassCall]:
        """Return the passes of ``path`` whose output can only be a target.

        Parameters
        ----------
        learners
            What learns beside it: one of them must have been given the same, and after
            the teacher none may have been given numbers that it was not. Without any,
            all passes are a teacher's.
        """
        found = []
        for index, call in enumerate(self.calls):
            if call.path != path or call.graph:
                continue
            beside = [
                (later, other)
                for later, other in enumerate(self.calls)
                if other.path in learners and other.graph
            ]
            alike = any(_is_given_the_same(other, call) for _, other in beside)
            fed = any(
                later > index and not other.floats <= call.floats
                for later, other in beside
            )
            if not learners or (alike and not fed):
                found.append(call)
        return found

    def close(self) -> None:
        """Take the hooks off and let the tensors go."""
        self.hooks.remove()
        self.calls.clear()


def repeated(calls: Sequence[PassCall]) -> int:
    """Count calls that were given what an earlier one was given."""
    return len(calls) - len({call.keys for call in calls})


def _is_given_the_same(learner: PassCall, teacher: PassCall) -> bool:
    shared = bool(learner.keys & teacher.keys)
    return shared and learner.floats <= teacher.floats


def _key(tensor: torch.Tensor) -> Key:
    place = tensor.untyped_storage().data_ptr()
    return (tensor.device, place, tensor.storage_offset(), tuple(tensor.shape))


def _tensors(given: Any, depth: int = 2) -> list[torch.Tensor]:
    if isinstance(given, torch.Tensor):
        return [given] if given.layout == torch.strided and given.numel() else []
    if isinstance(given, dict):
        given = list(given.values())
    if not isinstance(given, list | tuple) or not depth:
        return []
    return [t for each in given for t in _tensors(each, depth - 1)]
