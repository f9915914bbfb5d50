"""A warm-up is asked for beside the schedule "constant", which has none.

``lr_scheduler_type="constant"`` is made without any setting: the first step is taken at
the full rate, and ``warmup_steps`` is logged as if it had been used.

Fix: ``lr_scheduler_type="constant_with_warmup"``.
Source: transformers, get_scheduler (SchedulerType.CONSTANT).
"""

from ftlab.faults.builders import Case, Fault, lora, trained


def build(fixed: bool) -> Case:
    """Build a Trainer that shall warm up."""
    kind = "constant_with_warmup" if fixed else "constant"
    return trained(lora(), lr_scheduler_type=kind, warmup_steps=2, max_steps=8)


FAULT = Fault(
    "the loss jumps in the first steps in spite of the warm-up",
    code="ENV001",
    places=("config warmup_steps",),
    steps=8,
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
