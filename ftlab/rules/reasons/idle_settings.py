"""Settings of a Trainer that were made and that nothing reads, and why.

Each function yields those of one kind. Nothing is said where an object that the Trainer
was given decides: what it was made with is in the facts of the object.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ftlab.records.finding import Severity
from ftlab.rules.reading.asked import arguments, asked, epoch_updates, made
from ftlab.rules.reading.saving import first_facts
from ftlab.runlog.run import Run

CONSTANT = ("constant", "reduce_lr_on_plateau", "greedy")
"""Schedules of transformers that take no warm-up."""

UNSET = ("constant", "constant_with_warmup")
"""Schedules of transformers that take no settings of their own."""

_TORCH = ("torch.optim", "transformers.optimization", "bitsandbytes.optim")
"""Where the optimizers come from whose groups hold every setting that they have."""


@dataclass(frozen=True, slots=True)
class Idle:
    """A setting without effect.

    Attributes
    ----------
    name, value
        The argument.
    by
        The argument or object that makes it idle, and its value.
    reason
        A word for the kind.
    """

    name: str
    value: Any
    by: tuple[str, Any]
    reason: str
    severity: Severity = Severity.INFO


def idle_settings(run: Run) -> Iterator[Idle]:
    """Yield all of them."""
    yield from _schedule(run)
    yield from _loss(run)
    yield from _optimizer(run)
    yield from _length(run)
    yield from _switched_off(run)


def _schedule(run: Run) -> Iterator[Idle]:
    asks, kind = asked(run), str(arguments(run).get("lr_scheduler_type"))
    by = ("lr_scheduler_type", kind)
    made_by = _made_schedule(run)
    for name in ("warmup_steps", "warmup_ratio"):
        value = asks.get(name)
        if value and kind in CONSTANT and "warmup" not in made_by:
            yield Idle(name, value, by, "constant-schedule", Severity.WARNING)
    settings = asks.get("lr_scheduler_kwargs")
    if settings and kind in UNSET and "constant" in made_by:
        where = "lr_scheduler_kwargs"
        yield Idle(where, settings, by, "constant-schedule", Severity.WARNING)


def _made_schedule(run: Run) -> str:
    facts = first_facts(run).schedulers
    described = facts[0] if facts else {}
    told = described.get("asked") or {}
    return str(told.get("schedule") or described.get("class", "")).lower()


def _loss(run: Run) -> Iterator[Idle]:
    value = asked(run).get("label_smoothing_factor")
    if value and made(run).get("smoothing") == "own-loss":
        by = ("compute_loss", "a custom loss")
        yield Idle("label_smoothing_factor", value, by, "own-loss", Severity.WARNING)


def _optimizer(run: Run) -> Iterator[Idle]:
    asks, has = asked(run), made(run).get("settings") or {}
    optimizers = first_facts(run).optimizers
    module = str(optimizers[0].get("module", "")) if optimizers else ""
    by = ("optim", optimizers[0].get("class") if optimizers else "")
    if not has or not module.startswith(_TORCH):
        return
    for name, key in (("adam_beta1", "beta1"), ("adam_beta2", "beta2")):
        if name in asks and not isinstance(has.get(key), float):
            yield Idle(name, asks[name], by, "no-such-setting")
    if "adam_epsilon" in asks and not isinstance(has.get("eps"), float):
        yield Idle("adam_epsilon", asks["adam_epsilon"], by, "no-such-setting")
    for key, value in _pairs(asks.get("optim_args")):
        if key in has and not _same(has[key], value):
            told = f"{key}={value}"
            kept = (f"{key} of {by[1]}", has[key])
            yield Idle("optim_args", told, kept, "args-not-read", Severity.WARNING)


def _pairs(told: Any) -> Iterator[tuple[str, str]]:
    for each in str(told or "").replace(" ", "").split(","):
        key, found, value = each.partition("=")
        if found:
            yield key, value


def _same(has: Any, told: str) -> bool:
    try:
        return math.isclose(float(has), float(told))
    except (TypeError, ValueError):
        return str(has).lower() == told.lower()


def _length(run: Run) -> Iterator[Idle]:
    asks, updates = asked(run), epoch_updates(run)
    epochs, steps = asks.get("num_train_epochs"), asks.get("max_steps")
    if not epochs or not isinstance(steps, int) or steps <= 0 or not updates:
        return
    if math.ceil(epochs * updates) != steps:
        yield Idle(
            "num_train_epochs", epochs, ("max_steps", steps), "shorter-or-longer"
        )


def _switched_off(run: Run) -> Iterator[Idle]:
    asks, args = asked(run), arguments(run)
    for name, (switch, on) in _SWITCHES.items():
        state = asks.get(switch, args.get(switch))
        if asks.get(name) and state is not None and state not in on:
            yield Idle(name, asks[name], (switch, state), "switched-off")
    if asks.get("metric_for_best_model") and _chooses_nothing(run):
        by = ("load_best_model_at_end", False)
        yield Idle(
            "metric_for_best_model", asks["metric_for_best_model"], by, "switched-off"
        )


def _chooses_nothing(run: Run) -> bool:
    """Tell whether no checkpoint, schedule or callback goes by a metric."""
    args = arguments(run)
    best = args.get("load_best_model_at_end") or args.get("save_strategy") == "best"
    plateau = args.get("lr_scheduler_type") in CONSTANT[1:]
    return not (best or plateau) and made(run).get("patience") == []


_SWITCHES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "eval_steps": ("eval_strategy", ("steps",)),
    "save_steps": ("save_strategy", ("steps",)),
    "save_total_limit": ("save_strategy", ("steps", "epoch", "best")),
    "logging_steps": ("logging_strategy", ("steps",)),
    "gradient_checkpointing_kwargs": ("gradient_checkpointing", (True,)),
}
"""By setting: what must be switched on for it, and how."""
