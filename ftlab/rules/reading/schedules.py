"""What schedules were planned to be, against how long the run is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ftlab.records.rate_formulas import Rates, asked_rates
from ftlab.records.schedule_lengths import total_of, warmup_of
from ftlab.records.step import LedgerEntry
from ftlab.records.trainer_schedule import trainer_schedule
from ftlab.rules.reading.cycles import times
from ftlab.rules.reading.method_place import method_place
from ftlab.rules.reading.scheduling import may_have_schedulers
from ftlab.rules.rule import Need, Place, Run

CYCLES = 16
"""Update attempts that are looked at for the scheduler's steps per update."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One schedule as it was asked for, in steps of the scheduler.

    Attributes
    ----------
    index
        Of the scheduler; -1 for what a Trainer's arguments ask for before it has one.
    facts
        Its entry in the facts.
    warmup, total
        How long it rises and how long it is; 0 where that is not known.
    setting, length
        The arguments that say so, as places name them.
    """

    index: int
    facts: Mapping[str, Any]
    warmup: float
    total: float
    setting: str
    length: str

    @property
    def asked(self) -> Mapping[str, Any]:
        """What was asked for."""
        return self.facts.get("asked") or {}

    @property
    def target(self) -> str:
        """What the ledger calls the scheduler."""
        return f"scheduler {self.index}"

    def rates(self, steps: int) -> Rates | None:
        """Return its rates from its own beginning on, of each group."""
        base = self.asked.get("base_lrs") or [1.0]
        return asked_rates(self.facts, base, steps)

    def places(self, run: Run, setting: str) -> list[Place]:
        """Return where the setting stands: the arguments, then the scheduler."""
        told = run.facts.training.get("args") or {}
        names = [setting] if setting else []
        if setting == "num_warmup_steps" and told:
            names.insert(0, "warmup_steps")
        found = [Place("config", name) for name in names]
        return [*found, Place("call", "scheduler"), Place("optimizer", "lr")]


def plans_of(run: Run) -> list[Plan]:
    """Read the plan of each scheduler, or of the Trainer's arguments."""
    facts = run.facts
    plans = [_plan(index, each) for index, each in enumerate(facts.schedulers)]
    meant = None if plans else trainer_schedule(facts.training)
    return plans if meant is None else [_plan(-1, meant)]


def _plan(index: int, facts: Mapping[str, Any]) -> Plan:
    asked = facts.get("asked") or {}
    warmup, setting = warmup_of(str(facts.get("class")), asked)
    total, length = total_of(str(facts.get("class")), asked)
    return Plan(index, facts, warmup, total, setting, length)


def run_length(run: Run) -> int:
    """Return how many updates the run shall make; 0 where nobody has said it."""
    return max(0, int(run.facts.training.get("max_steps") or 0))


def per_update(run: Run, plan: Plan) -> float:
    """Return how many steps the scheduler makes for each update: 1 until it is seen."""
    owner = f"optimizer {int(plan.facts.get('optimizer_index') or 0)}"
    made: list[int] = []  # after each update, until the next one
    for entry in run.ledger if plan.index >= 0 else ():
        if entry.op in ("step", "skip") and entry.target == owner:
            made.append(0)
        elif made and entry.op == "scheduler_step" and entry.target == plan.target:
            made[-1] += times(entry)
        if len(made) > CYCLES:
            break
    return float(np.median(made[:-1])) if len(made) > 2 else 1.0


def moves_of(run: Run, plan: Plan) -> list[LedgerEntry]:
    """List the scheduler's own steps."""
    return [
        entry
        for entry in run.ledger
        if entry.op == "scheduler_step" and entry.target == plan.target
    ]


def stepping(run: Run, plan: Plan) -> Place:
    """Name the scheduler's own step."""
    return method_place(run, f"scheduler {max(plan.index, 0)}", "step")


def _has_plan(run: Run) -> bool:
    return bool(run.facts.schedulers) or bool(trainer_schedule(run.facts.training))


needs_schedule = Need(
    "a learning-rate scheduler, or the arguments of a Trainer",
    "pass it: ftlab.watch(model, optimizer, scheduler=scheduler)",
    _has_plan,
)
"""The need of a rule that reads what a schedule was asked to be."""


def may_be_scheduled(run: Run) -> bool:
    """Tell whether there is a schedule, or none has been looked for yet."""
    return _has_plan(run) or may_have_schedulers(run)
