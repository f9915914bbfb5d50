"""AdaLoRA with the ``total_step`` of another, much longer run.

The ranks are given away along a curve that ends at ``total_step - tfinal``. This run is
over when it has hardly begun.

Fix: ``total_step`` is the number of optimizer steps of this run.
Source: huggingface/peft#1801; peft `tuners/adalora/layer.py`, ``budget_schedule``.
"""

from ftlab.faults.adapter.configuration.ranks_kept_by_a_trainer import allocating
from ftlab.faults.builders import Case, Fault, trained
from ftlab.faults.builders.methods import ranked

STEPS = 24


def build(fixed: bool) -> Case:
    """Build a Trainer whose AdaLoRA is for its own steps, or for 100 times as many."""
    model = ranked(STEPS if fixed else 100 * STEPS, tfinal=8)
    further = {"callbacks": [allocating()]}
    return trained(model, max_steps=STEPS, learning_rate=5e-3, trainer=further)


FAULT = Fault(
    "AdaLoRA has given next to no rank away when training is over",
    code="ADP036",
    places=("config total_step",),
    steps=STEPS,
    evident=3,
    families=("llama", "gpt2", "neox"),
)
