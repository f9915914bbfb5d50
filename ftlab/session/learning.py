"""What became of each trainable parameter in a step, and why some stood still."""

import types
import weakref
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch

from ftlab.probes.naming import layers_of, named_trainables
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tensors.liveness import Standing, standings
from ftlab.records.by_id import ById
from ftlab.records.errors import NotLearningError
from ftlab.records.name_words import in_words
from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import routed

_REASONS = {
    "replaced": "replaced by another parameter since the optimizer was built",
    "no optimizer": "in no optimizer",
    "no gradient": "their gradient is None",
    "zero gradient": "their gradient is exactly 0",
    "too small": "the update is below the precision of the weight",
    "barren": "their lora_B is 0 and frozen, so nothing that they do has an effect",
    "not updated": "nothing tells why, for no gradient is kept",
}

_WITHOUT = {"no gradient", "zero gradient", "not updated"}

_EXCUSES = {
    "lr 0": "the learning rate is 0",
    "skipped": "the gradients are not finite, so the scaler skipped the step",
    "first step": "lora_B is 0, so the gradient of lora_A is 0",
    "idle expert": "an expert without a token",
}


class Learning:
    """What `assert_learning` found; also the context manager around a step.

    Attributes
    ----------
    updated
        Names of the parameters that changed.
    idle
        Why each of the others did not, for those that should have.
    excused
        Why each of the others did not, for those that need not have.

    Examples
    --------
    >>> import torch
    >>> import ftlab
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> with ftlab.assert_learning(model, optimizer) as learning:
    ...     model(torch.ones(1, 2)).sum().backward()
    ...     optimizer.step()
    >>> learning.updated
    ('weight', 'bias')
    """

    def __init__(
        self, model: torch.nn.Module, optimizers: list[Any], *, compiled: bool = False
    ) -> None:
        self.optimizers = optimizers
        self._compiled = compiled
        self.updated: tuple[str, ...] = ()
        self.idle: dict[str, str] = {}
        self.excused: dict[str, str] = {}
        self._model = weakref.ref(model)
        self._before: dict[str, Standing] = {}

    def __repr__(self) -> str:
        counts = (
            f"{len(self.updated)} parameters updated",
            f"{len(self.idle)} not",
            f"{len(self.excused)} need not be",
        )
        return f"Learning: {', '.join(counts)}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        model = self._model()
        if model is not None:
            forget(model)
        if model is not None and kind is None:
            self.check(model)

    def remember(self) -> None:
        """Take the parameters as they are now, for the next call or the block's end."""
        model = self._model()
        if model is not None:
            self._before = standings(model, self.optimizers)
            _known[model] = self

    def check(self, model: torch.nn.Module) -> None:
        """Compare with what was remembered; raise for what stands still."""
        now = standings(model, self.optimizers)
        live = {each.name: each.parameter for each in named_trainables(model)}
        self.updated, self.idle, self.excused = (), {}, {}
        skipped = _skipped(live, now)
        for name, standing in now.items():
            before = self._before.get(name)
            if standing.barren:
                self.idle[name] = "barren"
                continue
            if before is not None and before.fingerprint != standing.fingerprint:
                self.updated += (name,)
                continue
            self._judge(standing, before, skipped=skipped)
        kept = any(live[name].grad is not None for name in self.updated)
        for name in self.idle:
            self.idle[name] = self.idle[name] or _why(live[name], kept=kept)
        self._excuse_experts(live)
        if self.idle:
            raise NotLearningError(self._message(model))

    def _judge(self, now: Standing, before: Standing | None, *, skipped: bool) -> None:
        """Say why one parameter did not change, as far as the optimizer tells."""
        rates = [each.lr for each in (before, now) if each is not None]
        if now.lr is None:
            replaced = before is not None and before.identity != now.identity
            self.idle[now.name] = "replaced" if replaced else "no optimizer"
        elif before is None:
            return  # new: there is nothing to compare with
        elif any(not rate for rate in rates):
            self.excused[now.name] = "lr 0"
        elif skipped:
            self.excused[now.name] = "skipped"
        elif before.waits:
            self.excused[now.name] = "first step"
        else:
            self.idle[now.name] = ""

    def _excuse_experts(self, live: Mapping[str, torch.Tensor]) -> None:
        """Let experts pass that got no token while others like them did."""
        names = list(live)
        layers = layers_of(names)
        records = [
            NameRecord(0, "tensors", n, "param", layers[n], tuple(live[n].shape))
            for n in names
        ]
        lost = [name in self.idle for name in names]
        for name, idle in zip(names, routed(records, np.array(lost)), strict=True):
            if idle and self.idle[name] in _WITHOUT:
                self.excused[name] = "idle expert"
                del self.idle[name]

    def _message(self, model: torch.nn.Module) -> str:
        total = len(self.idle) + len(self.updated) + len(self.excused)
        lines = [
            f"{len(self.idle)} of {total} trainable parameters of "
            f"{type(model).__name__} do not learn:"
        ]
        for reason in dict.fromkeys(self.idle.values()):
            names = [name for name, why in self.idle.items() if why == reason]
            lines.append(f"  {in_words(names, shown=8)}: {_REASONS[reason]}")
        for reason in dict.fromkeys(self.excused.values()):
            names = [name for name, why in self.excused.items() if why == reason]
            lines.append(f"  (not counted: {in_words(names)}: {_EXCUSES[reason]})")
        lines += [*self._advice(), f"  Names: {', '.join(self.idle)}"]
        return "\n".join(lines)

    def _advice(self) -> list[str]:
        reasons = set(self.idle.values())
        if "barren" in reasons:
            return ["  Do not touch requires_grad after get_peft_model."]
        if not self.updated and not self.excused:
            return ["  Nothing changed at all: was optimizer.step() called in between?"]
        if reasons & {"replaced", "no optimizer"}:
            return ["  Build the optimizer after the last change to the model."]
        if self._compiled and reasons & _WITHOUT:
            return [
                "  The model is compiled: a graph from before these parameters existed "
                "or required gradients may be in use. Change the model first, compile "
                "last; torch._dynamo.reset() discards old graphs."
            ]
        return ["  ftlab.watch(model, optimizer) tells where their gradient is lost."]


_known: ById[torch.nn.Module, Learning] = ById()


def forget(model: torch.nn.Module) -> Learning | None:
    """Return what was remembered of a model at the last call, and drop it."""
    return _known.pop(innermost(model), None)


def _why(parameter: torch.Tensor, *, kept: bool) -> str:
    """Say what the gradient tells; ``kept``: those of updated parameters are there."""
    gradient = parameter.grad
    if gradient is None:
        return "no gradient" if kept else "not updated"
    return "too small" if bool(gradient.any()) else "zero gradient"


def _skipped(live: Mapping[str, torch.Tensor], now: Mapping[str, Standing]) -> bool:
    """Tell whether a gradient that was left over is not finite: scalers skip then."""
    gradients = (live[n].grad for n, each in now.items() if each.lr is not None)
    return any(g is not None and not bool(g.isfinite().all()) for g in gradients)
