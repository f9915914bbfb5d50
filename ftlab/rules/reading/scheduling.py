"""What rules about schedulers need, and when they have something to ask."""

from ftlab.rules.rule import Run, needs_operations, only_of


def may_have_schedulers(run: Run) -> bool:
    """Tell whether there is a scheduler, or nothing has been stepped yet."""
    ops = {entry.op for entry in run.ledger}
    return bool(run.facts.schedulers) or "scheduler_step" in ops or "step" not in ops


needs_scheduler_steps = only_of(
    may_have_schedulers,
    needs_operations(
        "scheduler_step",
        "a step of a learning-rate scheduler",
        "let it run to the scheduler's first step; a scheduler that is no torch "
        "LRScheduler cannot be heard",
    ),
)
"""The need of a rule that reads when schedulers are stepped."""
