"""What rules on gradient checkpointing read of a run."""

from ftlab.rules.rule import needs_steps_if_recorded

LOOKED_INTO = needs_steps_if_recorded(
    "recomputed",
    "which modules run again within backward",
    "ftlab.watch(...) with its standard probes, on a model that is not compiled",
)
