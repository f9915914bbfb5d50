"""What the modules of a model are given and return, shown one by one."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import torch

from ftlab.executions.nested import changed
from ftlab.probes.dynamo_private import runs_eagerly
from ftlab.probes.naming import clean_name
from ftlab.records.handle import HandleStack
from ftlab.replay.torch_private import (
    compiled_call,
    graph_task,
    outside_functions,
    outside_modes,
    zeros_to,
)


class Place(NamedTuple):
    """Where in an execution a tensor stands.

    Attributes
    ----------
    module
        Path of the module, without what wrappers put into it.
    call
        How often the module had been called before.
    kind
        Whether the module was given the tensor, returned it, or has it.
    path
        Which of its arguments, results or parameters.
    """

    module: str
    call: int
    kind: Literal["in", "out", "weight"]
    path: str


class Listener:
    """Is shown each tensor, and says what goes on in its place.

    Operations in here are no part of the execution, and have no gradients.
    """

    def value(self, place: Place, tensor: torch.Tensor, *, again: bool) -> torch.Tensor:
        """See a tensor of forward; ``again`` where a checkpoint computes it anew."""
        return tensor

    def gradient(self, place: Place, gradient: torch.Tensor) -> torch.Tensor | None:
        """See the gradient of that tensor; return what goes on, if it is another."""
        return None

    def awaits(self, place: Place) -> bool:
        """Say whether a gradient goes on here even where none comes."""
        return False

    def entered(self) -> None:
        """Hear that a module begins, behind what it is given."""

    def left(self) -> None:
        """Hear that a module has ended, behind what it returns."""

    def finished(self, model: torch.nn.Module) -> None:
        """Hear that backward, if there was one, has left its gradients."""


class Replaced(torch.autograd.Function):
    """Another value in a tensor's place; the gradient passes through."""

    @staticmethod
    def forward(*given: Any) -> Any:
        """Return the value, as a tensor of its own: several uses may be given it."""
        _context, _tensor, (value,) = given
        return value.detach()

    @staticmethod
    def backward(*given: Any) -> Any:
        """Return the gradient as it came."""
        return given[1], None


class Listening:
    """Shows a listener what every module of ``model`` is given and returns.

    While the context is open. Hooks that the model has run within ours: what they
    change belongs to their module.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.listening import Listener, Listening
    >>> class Print(Listener):
    ...     def value(self, place, tensor, again):
    ...         print(*place, tensor.shape)
    ...         return tensor
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3))
    >>> with torch.no_grad(), Listening(model, Print()):
    ...     out = model(torch.ones(1, 2))
     0 in 0 torch.Size([1, 2])
    0 0 in 0 torch.Size([1, 2])
    0 0 out  torch.Size([1, 3])
     0 out  torch.Size([1, 3])
    """

    def __init__(self, model: torch.nn.Module, listener: Listener) -> None:
        self._model = model
        self._listener = listener
        self._handles = HandleStack()
        self._begun: Counter[tuple[str, bool]] = Counter()
        # Backward begins here as well, with zeros: it comes though code drops it.
        self.awaited: list[tuple[Any, torch.Tensor]] = []

    def __enter__(self) -> "Listening":
        for name, module in heard_modules(self._model):
            calls: list[int] = []
            self._handles.add(
                module.register_forward_pre_hook(
                    partial(self._given, name, calls), with_kwargs=True, prepend=True
                )
            )
            self._handles.add(
                module.register_forward_hook(partial(self._returned, name, calls))
            )
        return self

    def __exit__(self, *exception: object) -> None:
        self._handles.remove()

    def _given(
        self, name: str, calls: list[int], module: Any, args: Any, kwargs: Any
    ) -> Any:
        again = graph_task() != -1
        calls.append(self._begun[name, again])
        self._begun[name, again] += 1
        show = self._shown(name, calls[-1], "in", again=again)
        new_args = tuple(changed(v, show, str(i)) for i, v in enumerate(args))
        new_kwargs = {k: changed(v, show, k) for k, v in kwargs.items()}
        self._listener.entered()
        return new_args, new_kwargs

    def _returned(
        self, name: str, calls: list[int], module: Any, args: Any, output: Any
    ) -> Any:
        if not calls:
            return output
        again = graph_task() != -1
        new = changed(output, self._shown(name, calls.pop(), "out", again=again))
        self._listener.left()
        return new

    def _shown(
        self, name: str, call: int, kind: Literal["in", "out"], *, again: bool
    ) -> Callable[[str, torch.Tensor], torch.Tensor]:
        def show(path: str, tensor: torch.Tensor) -> torch.Tensor:
            place = Place(name, call, kind, path.removeprefix("."))
            with torch.no_grad(), outside_modes():
                new = self._listener.value(place, tensor, again=again)
            if not (tensor.requires_grad and torch.is_grad_enabled()):
                return new
            # A tensor of its own, whose gradient is that of this use alone.
            with outside_functions():
                same = new is tensor
                own = tensor.view_as(tensor) if same else Replaced.apply(tensor, (new,))
            if not again and self._listener.awaits(place):
                self.awaited.append(zeros_to(own))
            # Behind the hooks that code puts on it, which are not of this module.
            node: Any = own.grad_fn
            self._handles.add(node.register_prehook(partial(self._gradient, place)))
            return own

        return show

    def _gradient(self, place: Place, given: tuple[torch.Tensor | None]) -> Any:
        if given[0] is None:  # an undefined gradient, as good as zero
            return None
        with torch.no_grad(), outside_modes():
            new = self._listener.gradient(place, given[0])
        return new if new is None else (new,)


def heard_modules(model: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    """List modules with the names that they share with those of another wrapping.

    What is inside compiled code is not among them, unless it runs eagerly; of several
    of one name, a wrapper and what it wraps, the innermost is.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.listening import heard_modules
    >>> [name for name, _ in heard_modules(torch.nn.Sequential(torch.nn.ReLU()))]
    ['', '0']
    """
    found: dict[str, torch.nn.Module] = {}
    compiled: list[str] = []
    for name, module in model.named_modules():
        if any(name.startswith(f"{outer}." if outer else "") for outer in compiled):
            continue
        if compiled_call(module) and not runs_eagerly():
            compiled.append(name)
        found[shared_name(name)] = module
    return list(found.items())


def shared_name(name: str) -> str:
    """Drop from a module's name what wrappers, PEFT's model among them, put before it.

    Examples
    --------
    >>> from ftlab.executions.listening import shared_name
    >>> shared_name("base_model.model.model.layers.0"), shared_name("base_model")
    ('model.layers.0', '')
    >>> shared_name("module.layers.0")
    'layers.0'
    """
    clean = clean_name(name)
    while clean.startswith("base_model."):  # an adapter within an adapter has it twice
        clean = clean.removeprefix("base_model.").removeprefix("lora_model.")  # X-LoRA
        clean = "" if clean == "model" else clean.removeprefix("model.")
    return "" if clean == "base_model" else clean
