"""What a Trainer's arguments asked for, and what was made of them, for the rules."""

import math
from collections.abc import Mapping
from typing import Any

from ftlab.rules.reading.saving import first_facts, needs_model
from ftlab.rules.rule import Run, only_of

Described = Mapping[str, Any]


def asked(run: Run) -> Described:
    """Return the settings that differ from their defaults; empty without a Trainer."""
    return _part(run, "asked")


def arguments(run: Run) -> Described:
    """Return the arguments as they are, defaults among them."""
    return _part(run, "args")


def made(run: Run) -> Described:
    """Return what the Trainer has made of them."""
    return _part(run, "made")


def loader(run: Run) -> Described:
    """Return how many batches of which size an epoch has, where that is known."""
    return _part(run, "loader")


def is_trainers(run: Run) -> bool:
    """Tell whether a Trainer trains, or nothing is known of the run."""
    return not run.facts.model or "trainer_class" in first_facts(run).training


needs_trainer = only_of(is_trainers, needs_model)
"""The need of a rule that is about what a Trainer makes of its arguments."""


def planned_steps(run: Run) -> int:
    """Return how many updates the run shall make; 0 where unknown."""
    steps = first_facts(run).training.get("max_steps")
    return steps if isinstance(steps, int) and steps > 0 else 0


def epoch_updates(run: Run) -> int:
    """Return how many updates an epoch has; 0 where the data has no length."""
    batches = loader(run).get("batches")
    window = first_facts(run).training.get("gradient_accumulation_steps")
    if not isinstance(batches, int) or not batches or not isinstance(window, int):
        return 0
    return math.ceil(batches / max(window, 1))


def evaluations(run: Run) -> int | None:
    """Count the evaluations that come in the run; ``None`` where that is unknown.

    Strategy, interval and delay decide, and whether this version evaluates at the last
    step; somebody's own callback that evaluates makes it unknown.
    """
    args, asks, facts, steps = arguments(run), asked(run), made(run), planned_steps(run)
    delay = asks.get("eval_delay") or 0
    if not steps or facts.get("own_evaluation") is not False:
        return None
    if args.get("eval_strategy") == "epoch":
        updates = epoch_updates(run)
        return (
            math.ceil(steps / updates) - max(math.ceil(delay) - 1, 0)
            if updates
            else None
        )
    every = asks.get("eval_steps") or args.get("logging_steps")
    if args.get("eval_strategy") != "steps" or not isinstance(every, int | float):
        return 0 if args.get("eval_strategy") == "no" else None
    every = math.ceil(every * steps) if every < 1 else int(every)
    if steps < delay:
        return 0
    turns = steps // every - max(math.ceil(delay / every) - 1, 0)
    return turns + bool(facts.get("evaluates_at_end") and steps % every)


def _part(run: Run, name: str) -> Described:
    found = first_facts(run).training.get(name)
    return found if isinstance(found, Mapping) else {}
