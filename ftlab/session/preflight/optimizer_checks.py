"""Layer *optimizer*: there is one, it holds what is trainable, its rate is above 0."""

from collections.abc import Sequence
from typing import Any

from ftlab.probes.taps.optimizer import unwrapped
from ftlab.records.name_words import in_words
from ftlab.rules.words import counted, listed, number
from ftlab.session.preflight.saying import Check, Fault, Items
from ftlab.session.preflight.seen import Seen

HELD_WRONGLY = {"OPT001", "OPT002"}
"""The rules that tell what an optimizer holds, and should not or should."""

SAMPLES = 200
"""Steps of a schedule that are looked at, spread over the run."""

_THERE = Check("optimizer", "there is an optimizer")
_HOLDS = Check("optimizer", "it holds what is trainable")
_RATE = Check("optimizer", "the learning rate is above 0")


def optimizer_checks(seen: Seen) -> Items:
    """Yield the items of the layer."""
    if not seen.optimizers:
        yield _THERE.not_checked(
            "no optimizer was passed", "preflight(..., optimizer=optimizer)"
        )
        return
    groups = [g for each in seen.optimizers for g in unwrapped(each).param_groups]
    yield from _holds(seen, groups)
    yield _rates(seen, groups)


def _holds(seen: Seen, groups: Sequence[dict[str, Any]]) -> Items:
    if seen.codes & HELD_WRONGLY or not seen.facts.optimizers:
        return
    held = sum(len(group["params"]) for group in groups)
    kinds = listed([type(unwrapped(each)).__name__ for each in seen.optimizers])
    missing = list(seen.facts.optimizers[0].get("missing", ()))
    foreign = [f for each in seen.facts.optimizers for f in each.get("foreign", ())]
    what = f"{kinds} holds {counted(held, 'tensor')} in {counted(len(groups), 'group')}"
    if not missing and not foreign:
        yield _HOLDS.passed(f"{what}, all that is trainable")
        return
    says = f"{len(missing)} trainable in none of them: {in_words(missing)}"
    if not missing:
        says = f"{len(foreign)} of them not the model's"
    yield _HOLDS.not_checked(
        f"{what}; {says}. The dry steps do not prove that nothing else moves the "
        "weights, as master weights do",
        "pass a batch and all optimizers; build the optimizer last, from the "
        "parameters that are trainable then",
    )


def _rates(seen: Seen, groups: Sequence[dict[str, Any]]) -> Any:
    if any(group.get("lr") is None for group in groups):
        return _RATE.passed("the optimizer chooses its own rate")
    tried = _dry_rates(seen)  # dry steps have moved the groups' own
    now = tried[0] if tried else [float(group["lr"]) for group in groups]
    ahead = _ahead(seen)
    peak = max([*now, *(rate for row in tried for rate in row), *ahead], default=0.0)
    first = max(now, default=0.0)
    if peak > 0:
        over = f", at most {number(peak)} over {seen.steps} steps" if ahead else ""
        return _RATE.passed(f"{number(first)} at the first step{over}", peak=peak)
    if seen.schedulers and not ahead:
        return _RATE.not_checked(
            f"it is 0 in the first {counted(len(seen.dry.losses), 'step')}, and the "
            "schedule says nothing about later ones",
            "watch the first steps, or pass args= with max_steps",
        )
    # Every scheduler of torch leaves what it begins from in the groups.
    begun = max((float(g.get("initial_lr") or 0) for g in groups), default=0.0)
    if begun > 0 and not seen.schedulers:
        return _RATE.not_checked(
            f"it is 0 now; a schedule that was not passed starts from {number(begun)}",
            "preflight(..., scheduler=scheduler)",
        )
    return _RATE.failed(
        Fault(
            "the learning rate of every group is 0: no weight will ever move",
            cause="It was set to 0, or the schedule ends before it begins (more "
            "warm-up steps than steps, a wrong number of total steps).",
            fix="Set lr above 0 and give the schedule the number of optimizer steps.",
            places=[("optimizer", "lr")],
        ),
        peak=0.0,
    )


def _dry_rates(seen: Seen) -> list[list[float]]:
    """Return the rates of each dry step by group."""
    steps = seen.dry.run.steps
    if seen.stood_in or "lr" not in steps.columns:
        return []
    return [[float(rate) for rate in row if rate == rate] for row in steps["lr"]]


def _ahead(seen: Seen) -> list[float]:
    """Return the rates of steps to come, where the schedule can be asked for them."""
    if not seen.steps:
        return []
    stride = max(1, seen.steps // SAMPLES)
    found: list[float] = []
    for each in seen.schedulers:
        scheduler = getattr(each, "scheduler", each)
        factors = getattr(scheduler, "lr_lambdas", None)
        bases = getattr(scheduler, "base_lrs", ())
        for factor, base in zip(factors or (), bases, strict=False):
            found += [
                float(base) * float(factor(step))
                for step in range(0, seen.steps, stride)
            ]
    return found
