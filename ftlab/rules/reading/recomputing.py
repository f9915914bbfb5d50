"""What rules on gradient checkpointing read of a run."""

from ftlab.rules.rule import needs_step_values
from ftlab.runlog.run import Run

LOOKED_INTO = needs_step_values(
    "recomputed",
    "which modules run again within backward",
    "ftlab.watch(...) with its standard probes, on a model that is not compiled",
)


def may_recompute(run: Run) -> bool:
    """Tell whether modules were looked into, or no step was made yet."""
    return not len(run.steps) or "recomputed" in run.steps.columns
