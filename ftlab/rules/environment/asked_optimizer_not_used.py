"""The rule ENV002, asked-optimizer-not-used.

## What it does
Finds Trainers whose optimizer, or loader, has values that differ from the arguments: it
was passed in, or is created by a custom method.

## Why is this bad?
With `optimizers=(optimizer, None)` the Trainer no longer reads learning_rate,
weight_decay, optim or adam_beta1. Nothing is raised; trackers log the arguments. A
sweep over the learning rate then trains the same run again and again.

## Evidence
Only arguments that differ from the default of their class, against the groups of the
optimizer at the start: no group has the configured value (up to 1 %). Groups with rates
of their own leave one that has it; the peak of a OneCycleLR counts as its rate. A
resumed run is ADP027's. *family*: the words of `optim` ("adafactor", "sgd", ...)
against the optimizer's class. *own-rates*: an Adafactor with `relative_step=True` has
no rate that could be set. *loader*: the batch size of the loader against
per_device_train_batch_size, in one process.
Measured with transformers 5.23 and 4.57: with arguments of 5e-3 and a decay of 0.1, an
AdamW passed in with lr=1e-4 trains at 1e-4 with its own decay of 0.01.
By hand: `trainer.optimizer.param_groups[0]` against `trainer.args`.

## What to try
1. Create the optimizer from the arguments: `AdamW(parameters, lr=args.learning_rate,
   weight_decay=args.weight_decay)`.
2. Pass no optimizer; `optimizer_cls_and_kwargs=` where a class is all you need.
3. Remove the arguments.

## Known problems
A value that the optimizer takes from elsewhere on purpose, and that was left in the
arguments, is reported too.

## References
- transformers, Trainer.create_optimizer
- huggingface/transformers#4520 (passing an optimizer)
"""

import math
from collections.abc import Iterator
from typing import Any

from ftlab.rules.reading.asked import asked, loader, made, needs_trainer
from ftlab.rules.reading.saving import first_facts, span
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import listed, number

SAME = 1e-2
"""Relative distance up to which two values are the same."""

FAMILIES = ("adafactor", "adagrad", "rmsprop", "lion", "sgd")
"""Words of `optim` that the class of the optimizer has in its name."""

_FLAT = "deepspeed"


class AskedOptimizerNotUsed(Rule):
    """Finds optimizers and loaders that are not as the arguments ask."""

    code = "ENV002"
    layer = "optimizer"
    requires = needs_trainer

    def check(self, run: Run) -> Results:
        """Yield one finding for the optimizer, and one for the loader."""
        off = list(_off(run))
        if off:
            yield self._finding(run, off)
        size, asks = loader(run).get("batch_size"), asked(run)
        wanted, alone = asks.get("per_device_train_batch_size"), _is_alone(run)
        if alone and size and wanted and made(run).get("batch_size") == wanted != size:
            told = ("per_device_train_batch_size", wanted, str(size), "loader")
            yield self._finding(run, [told])

    def _finding(self, run: Run, off: list[tuple[str, Any, str, str]]) -> Finding:
        told = [f"{name}={value} but {used} is used" for name, value, used, _ in off]
        loads = off[0][3] == "loader"
        what = "loader" if loads else "optimizer"
        return self.warning(
            f"the {what} does not match the arguments: {listed(told, 4)}",
            cause=f"The {what} was passed in, or a custom method creates it: the "
            "Trainer does not read these arguments then.",
            fix="Create it from the arguments (lr=args.learning_rate, ...), or remove "
            "the arguments.",
            places=[Place("config", name) for name, *_ in off]
            + [Place("object", "train_dataloader" if loads else "optimizer")],
            steps=span(run),
            reason=off[0][3],
            evidence={"settings": len(off), "threshold": SAME},
            healthy="the run uses what is set in the arguments",
        )


def _is_alone(run: Run) -> bool:
    return first_facts(run).training.get("world_size") == 1


def _off(run: Run) -> Iterator[tuple[str, Any, str, str]]:
    """Yield argument, value, what is used in its place, and the reason."""
    facts, asks = first_facts(run), asked(run)
    if len(facts.optimizers) != 1 or facts.step > 0:
        return
    described, settings = facts.optimizers[0], made(run).get("settings") or {}
    groups = described.get("groups") or []
    if not groups or str(described.get("module", "")).startswith(_FLAT):
        return
    rates = [g.get("initial_lr") or g.get("lr") for g in groups] + _peaks(run)
    if "learning_rate" in asks and made(run).get("own_rates") is True:
        yield "learning_rate", asks["learning_rate"], "one of its own", "own-rates"
    elif "learning_rate" in asks and _is_off(asks["learning_rate"], rates):
        used = _shown(rates)
        yield "learning_rate", asks["learning_rate"], used, "handed-over"
    held = {
        "weight_decay": [group.get("weight_decay") for group in groups],
        "adam_beta1": [settings.get("beta1")],
        "adam_beta2": [settings.get("beta2")],
    }
    for name, values in held.items():
        if name in asks and _is_off(asks[name], values):
            yield name, asks[name], _shown(values), "handed-over"
    kind, optim = str(described.get("class", "")), str(asks.get("optim", ""))
    wanted = next((each for each in FAMILIES if each in optim), "")
    if wanted and "layerwise" not in optim and wanted not in kind.lower():
        yield "optim", optim, kind, "family"


def _is_off(value: Any, found: list[Any]) -> bool:
    """Tell whether values are known and none is the one asked for."""
    known = [each for each in found if isinstance(each, int | float)]
    return bool(known) and not any(
        math.isclose(each, value, rel_tol=SAME) for each in known
    )


def _shown(found: list[Any]) -> str:
    known = dict.fromkeys(v for v in found if isinstance(v, int | float))
    return listed([number(each) for each in known], 3)


def _peaks(run: Run) -> list[Any]:
    told = (each.get("asked") or {} for each in first_facts(run).schedulers)
    return [rate for each in told for rate in each.get("max_lrs") or ()]
