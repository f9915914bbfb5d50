"""What one side's modules were given and returned, in order."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch

from ftlab.executions.listening import Listener, Place, shared_name
from ftlab.executions.spool import Kept, Spool


@dataclass(slots=True)
class Tape:
    """Tensors of one execution by place.

    Attributes
    ----------
    spool
        Where they are kept.
    values
        Those of forward, in order.
    gradients
        Those of backward, in order. Those of parameters stand at `of_weight`.
    """

    spool: Spool
    values: dict[Place, Kept] = field(default_factory=dict)
    gradients: dict[Place, Kept] = field(default_factory=dict)


def of_weight(name: str) -> Place:
    """Return the place of a parameter's gradient.

    Examples
    --------
    >>> from ftlab.executions.tape import of_weight
    >>> of_weight("layers.0.mlp.weight")
    Place(module='layers.0.mlp', call=0, kind='weight', path='weight')
    """
    module, _, parameter = name.rpartition(".")
    return Place(module, 0, "weight", parameter)


def weight_gradients(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the gradients of a model's parameters with shared names."""
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and parameter.grad.layout == torch.strided:
            yield shared_name(name), parameter.grad


class Recording(Listener):
    """Keeps each tensor on a tape and changes none.

    Parameters
    ----------
    tape
        Where they are kept.
    made
        What is kept of each; the tensor itself if it is ``None``.
    """

    def __init__(
        self, tape: Tape, made: Callable[[torch.Tensor], torch.Tensor] | None = None
    ) -> None:
        self._tape = tape
        self._made = made or (lambda tensor: tensor)

    def value(self, place: Place, tensor: torch.Tensor, *, again: bool) -> torch.Tensor:
        """Keep a tensor of forward, once."""
        if not again and place not in self._tape.values:
            self._tape.values[place] = self._tape.spool.put(self._made(tensor))
        return tensor

    def gradient(self, place: Place, gradient: torch.Tensor) -> None:
        """Keep a gradient; a tensor of several uses within torch has several."""
        if place not in self._tape.gradients:
            self._tape.gradients[place] = self._tape.spool.put(self._made(gradient))

    def finished(self, model: torch.nn.Module) -> None:
        """Keep the gradients of parameters."""
        for name, gradient in weight_gradients(model):
            kept = self._tape.spool.put(self._made(gradient))
            self._tape.gradients[of_weight(name)] = kept
