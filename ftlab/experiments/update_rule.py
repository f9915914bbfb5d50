"""EXP012, update-rule: a step changes weights as the optimizer's formula says.

## What must hold
After ``optimizer.step()`` each trained weight is what rate, betas, decay and gradient
prescribe, and nothing else has moved.

## Why
Updates that are rounded away in bf16, a step that takes another rate or decay than its
group has, and hooks that edit weights are seen here, whatever their cause.

## When it does not apply
Other optimizers than torch's AdamW, Adam and SGD; no optimizer at all.

## What to try
Keep trained weights in float32, and give each to one group of one optimizer.

## References
- torch, `torch.optim.AdamW`
"""

from collections.abc import Iterator
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.executions.side import NotApplicableError
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome
from ftlab.replay.capsules.update_capsule import held

SAMPLED = 64
"""Values of each tensor that are computed again."""
CLOSE = 1e-2
"""Relative error of an update in float32 that rounding makes."""
LOST = 0.98
"""Share of a tensor's values that do not move although they should: rounded away."""
KNOWN = {"AdamW", "Adam", "SGD"}


class UpdateRule(Experiment):
    """The weights after a step, and by the formula."""

    code = "EXP012"
    name = "update-rule"
    relation = "a step changes each weight as the optimizer's formula says, no other"
    cause = "What the optimizer computes does not reach the weights as it is."
    fix = (
        "Keep trained weights in float32, give each to one group of one optimizer, and "
        "let nothing else write to them."
    )

    def run(self, live: Live) -> Outcome:
        """Make a step, whose changes are undone by who asked for it."""
        optimizers = [getattr(each, "optimizer", each) for each in live.optimizers]
        if not optimizers:
            msg = "there is no optimizer; pass optimizer="
            raise NotApplicableError(msg)
        for each in optimizers:
            if type(each).__name__ not in KNOWN:
                msg = f"{type(each).__name__} is none of {', '.join(sorted(KNOWN))}"
                raise NotApplicableError(msg)
            each.zero_grad()
        live.computed().backward()
        ids = [id(p) for each in optimizers for p in held(each)]
        if len(set(ids)) < len(ids):
            msg = "a weight is in several groups or optimizers, which take turns"
            raise NotApplicableError(msg)
        names = {id(p): shared_name(n) for n, p in live.model.named_parameters()}
        others = [p for p in live.model.parameters() if id(p) not in set(ids)]
        before = [_sample(p) for p in others]
        expected = [found for each in optimizers for found in _expected(each)]
        for each in optimizers:
            each.step()
        moved = [
            names[id(p)]
            for p, was in zip(others, before, strict=True)
            if not torch.equal(_sample(p), was)
        ]
        off = [(names.get(id(p), "?"), miss) for p, miss in _missed(expected)]
        if moved or off:
            return self._broken(moved, off)
        count = f"{len(expected)} tensors"
        return self.outcome("holds", f"{count} as prescribed, nothing else moved")

    def _broken(self, moved: list[str], off: list[tuple[str, float]]) -> Outcome:
        if off:
            name, miss = max(off, key=lambda each: each[1])
            says = (
                f"{len(off)} tensors are not as prescribed; {name} misses its update "
            )
            says += f"by {miss:.0%} of it"
            places = tuple(Place("param", name) for name, _ in off)
        else:
            says = (
                f"{len(moved)} weights that no optimizer has moved, such as {moved[0]}"
            )
            places = tuple(Place("param", name) for name in moved)
        return self.outcome(
            "broken", says, places=places, evidence={"tensors": len(places)}
        )


def _sample(parameter: torch.Tensor) -> torch.Tensor:
    flat = parameter.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // SAMPLED)][:SAMPLED].clone()


def _expected(
    optimizer: Any,
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Yield each parameter with samples of its value before and after the step."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None and parameter.grad.layout == torch.strided:
                state = optimizer.state.get(parameter, {})
                yield (
                    parameter,
                    _sample(parameter).double(),
                    _after(parameter, group, state, type(optimizer).__name__),
                )


def _after(parameter: Any, group: Any, state: Any, kind: str) -> torch.Tensor:
    value, gradient = _sample(parameter).double(), _sample(parameter.grad).double()
    rate, decay = float(group["lr"]), float(group.get("weight_decay", 0.0))
    if group.get("maximize"):
        gradient = -gradient
    if kind == "AdamW" or group.get("decoupled_weight_decay"):
        value = value * (1 - rate * decay)
    elif decay:
        gradient = gradient + decay * value
    if kind == "SGD":
        return value - rate * _momentum(group, state, gradient)
    beta1, beta2 = (float(each) for each in group["betas"])
    step = float(state.get("step", 0)) + 1
    first, second = (
        _sample(state[name]).double() if name in state else torch.zeros_like(value)
        for name in ("exp_avg", "exp_avg_sq")
    )
    first = beta1 * first + (1 - beta1) * gradient
    second = beta2 * second + (1 - beta2) * gradient**2
    if group.get("amsgrad") and "max_exp_avg_sq" in state:
        second = torch.maximum(second, _sample(state["max_exp_avg_sq"]).double())
    root = second.sqrt() / (1 - beta2**step) ** 0.5 + float(group["eps"])
    return value - rate / (1 - beta1**step) * first / root


def _momentum(group: Any, state: Any, gradient: torch.Tensor) -> torch.Tensor:
    momentum = float(group.get("momentum", 0.0))
    if not momentum:
        return gradient
    kept, buffer = state.get("momentum_buffer"), gradient
    if kept is not None:
        buffer = momentum * _sample(kept).double() + (1 - group["dampening"]) * gradient
    return gradient + momentum * buffer if group.get("nesterov") else buffer


def _missed(expected: Any) -> Iterator[tuple[torch.Tensor, float]]:
    """Yield the parameters that are not where they should be, with the share missed.

    Storing a weight rounds it; where that takes nearly all of an update, it is missed.
    """
    for parameter, before, after in expected:
        now = _sample(parameter).double()
        update, miss = (after - before).norm(), (now - after).norm()
        eps = torch.finfo(parameter.dtype).eps
        # what float32 would not hold either is no matter of where weights are kept
        held = (after - before).abs() > torch.finfo(torch.float32).eps * before.abs()
        still = (now == before) & held
        rounded = bool(held.any()) and bool(still.sum() > LOST * held.sum())
        near = miss <= CLOSE * update + 2 * eps * before.norm()
        if bool(after.isfinite().all()) and (rounded or not near):
            yield parameter, float(miss / update.clamp(min=1e-300))
