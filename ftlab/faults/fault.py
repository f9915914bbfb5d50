"""The shape of a fault: what is broken, which rule must say so, and where."""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

StepFunction = Callable[[Any], float]
"""The user's loop body: batch -> loss."""


@dataclass(slots=True)
class Case:
    """A run as its user has it: live objects and a loop body.

    Attributes
    ----------
    step
        One iteration of the user's loop, its bug included.
    optimizer, scheduler, scaler
        What the user would hand to ftlab.
    batches
        Are gone through again and again.
    """

    model: torch.nn.Module
    optimizer: Any
    batches: Sequence[Any]
    step: StepFunction
    scheduler: Any = None
    scaler: Any = None
    losses: list[float] = field(default_factory=list)

    def run(self, steps: int) -> list[float]:
        """Run the loop for some iterations; returns all losses so far."""
        for _ in range(steps):
            batch = self.batches[len(self.losses) % len(self.batches)]
            self.losses.append(self.step(batch))
        return self.losses


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and its healthy twin.

    Attributes
    ----------
    id
        As in ``ftlab.faults.load("lora-b-frozen")``; the file's name.
    title
        What the user sees.
    code
        The rule that must find it.
    places
        Patterns (`fnmatch`) of which one must match a place of the finding, such as
        ``"param *.lora_B.*"``.
    builder
        Makes the case; ``True`` builds the healthy twin.
    steps
        Iterations after which it must be found.
    also
        Codes of other rules that are right to say something too.

    Examples
    --------
    >>> from ftlab.faults.registry import load
    >>> fault = load("lora-b-frozen")
    >>> case = fault.build(fixed=False)
    >>> len(case.run(2))
    2
    """

    id: str
    title: str
    code: str
    places: tuple[str, ...]
    builder: Callable[[bool], Case]
    steps: int = 20
    also: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The folder that the fault lives in."""
        return self.builder.__module__.split(".")[-2]

    @property
    def page(self) -> str:
        """What happens, why, and the fix, in words."""
        return inspect.getdoc(sys.modules[self.builder.__module__]) or ""

    def build(self, fixed: bool) -> Case:
        """Build the faulty run, or its healthy twin."""
        return self.builder(fixed)


@dataclass(frozen=True, slots=True)
class Healthy:
    """A healthy run that naive checks take for a sick one.

    Attributes
    ----------
    looks_like
        Codes of the rules that it could mislead.
    """

    id: str
    title: str
    looks_like: tuple[str, ...]
    builder: Callable[[], Case]
    steps: int = 20

    def build(self) -> Case:
        """Build the run."""
        return self.builder()


def plain_step(
    model: torch.nn.Module, optimizer: Any, scheduler: Any = None
) -> StepFunction:
    """Return the correct loop body for a model that computes its own loss."""

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        return float(loss.detach())

    return step
