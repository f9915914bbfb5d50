"""A warm-up of 500 steps, in a run of twelve.

``num_warmup_steps`` comes from a recipe for a large dataset. The rate rises as it
should, and is at 2 % of what was asked for when training ends.

Fix: count the warm-up from the run's own steps, 3 to 10 % of them.
Source: recipes that are copied with their numbers.
"""

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora

STEPS = 12


def build(fixed: bool) -> Case:
    """Build a linear schedule whose warm-up does not fit into it."""
    from transformers import get_linear_schedule_with_warmup

    model = lora()
    optimizer = adamw(model, lr=1e-2)
    warmup = 1 if fixed else 500
    scheduler = get_linear_schedule_with_warmup(optimizer, warmup, STEPS)
    return loop_case(model, optimizer, scheduler=scheduler)


FAULT = Fault(
    "the loss hardly moves, and the rate is a straight line upwards",
    code="OPT011",
    places=("config num_warmup_steps",),
    evident=-1,
    families=("llama", "gpt2", "own"),
)
