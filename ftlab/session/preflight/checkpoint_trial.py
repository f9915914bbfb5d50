"""Whether gradient checkpointing gives the gradients of the plain run, by trying both.

A step is run twice from the same state and the same random numbers, once as it is and
once with every checkpoint keeping what it computes. Where the two differ, a third run
as it is tells how far two equal runs are apart.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.naming import named_parameters
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.probes.torch_private import (
    is_within_backward,
    without_checkpoints,
)
from ftlab.runlog.run import Run

LIMIT = 0.01
"""Difference of two gradients, over the larger norm, from which on they are not one.

Measured on a CPU with dropout, in float32, bfloat16 and under autocast: healthy models
give the same bits. A mask that is drawn again gives 0.1 and more.
"""

NOISE = 10.0
"""How many times the difference of two equal runs another one must be."""

Gradients = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class CheckpointTrial:
    """What came of comparing a step with and without checkpointing.

    Attributes
    ----------
    tensors
        How many gradients were compared.
    apart
        Relative differences above the limit, by name, in the model's order.
    largest, noise
        Largest difference of all, and of two runs as they are (0 where not needed).
    why_not
        Why there was no comparison; ``""`` where there was one.
    """

    tensors: int = 0
    apart: Mapping[str, float] = field(default_factory=dict)
    largest: float = 0.0
    noise: float = 0.0
    why_not: str = ""


def recomputes(run: Run) -> bool:
    """Tell whether modules were seen to run again within backward."""
    steps = run.steps
    if "recomputed" not in steps.columns:
        return False
    return bool((steps["recomputed"][steps.known("recomputed")] > 0).any())


def gradients_of(
    model: torch.nn.Module,
    optimizers: Sequence[Any],
    step: Callable[[], Any],
) -> tuple[Gradients, bool]:
    """Run a step; return what gradients it had made, and whether it ran modules twice.

    They are copied right before the first optimizer takes them; where none is heard,
    they are those that the step leaves.
    """
    taken: Gradients = {}

    def take(*_: Any) -> None:
        if not taken:
            taken.update(_current(model))

    for parameter in model.parameters():
        parameter.grad = None
    with contextlib.ExitStack() as hooks:
        for each in map(unwrapped, optimizers):
            if isinstance(each, torch.optim.Optimizer):
                hooks.callback(each.register_step_pre_hook(take).remove)
        again = hooks.enter_context(_runs_again(model))
        step()
    return taken or _current(model), bool(again)


def compared(once: Gradients, plain: Gradients, noise: Gradients) -> CheckpointTrial:
    """Compare gradients of two runs; ``noise`` are those of one that is like ``once``.

    Examples
    --------
    >>> import torch
    >>> from ftlab.session.preflight.checkpoint_trial import compared
    >>> one, other = {"a": torch.ones(2)}, {"a": torch.tensor([1.0, 2.0])}
    >>> compared(one, one, {}).apart
    {}
    >>> compared(one, other, one).apart
    {'a': 0.447...}
    """
    names = list(dict.fromkeys([*once, *plain]))
    far = {name: _apart(once.get(name), plain.get(name)) for name in names}
    chance = {n: _apart(once.get(n), noise.get(n)) for n in names} if noise else {}
    apart = {
        name: value
        for name, value in far.items()
        if value > max(LIMIT, NOISE * chance.get(name, 0.0))
    }
    return CheckpointTrial(
        len(names),
        apart,
        max(far.values(), default=0.0),
        max(chance.values(), default=0.0),
    )


def without() -> Any:
    """Return a context in which no checkpoint computes anything again."""
    return without_checkpoints()


def _current(model: torch.nn.Module) -> Gradients:
    return {
        entry.name: entry.parameter.grad.detach().clone()
        for entry in named_parameters(model)
        if entry.parameter.grad is not None
    }


@contextlib.contextmanager
def _runs_again(model: torch.nn.Module) -> Iterator[list[bool]]:
    """Note whether a module runs within backward."""
    seen: list[bool] = []

    def look(*_: Any) -> None:
        if is_within_backward():
            seen.append(True)

    handles = [m.register_forward_pre_hook(look) for m in model.modules()]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _apart(one: torch.Tensor | None, other: torch.Tensor | None) -> float:
    if one is None or other is None:
        return 0.0 if one is other else 1.0
    if torch.equal(one, other):
        return 0.0
    a, b = one.double(), other.double()
    larger = max(float(a.norm()), float(b.norm()))
    apart = float((a - b).norm()) / larger if larger else 0.0
    return apart if apart == apart else 1.0  # NaN in one of them alone
