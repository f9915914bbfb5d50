"""``module_dropout=1``: LoHa leaves every layer out at every training step.

With a head that is trained beside the adapter backward has something to do, so that
nothing is raised, and the loss falls.

Fix: ``module_dropout=0.05``, or 0: it is the share that is dropped.
Source: a keep probability, as other libraries have it; peft's ``LoHaConfig``.
"""

from ftlab.faults.builders import Case, Fault, base, plain_case
from ftlab.faults.builders.heads import head
from ftlab.faults.builders.methods import tuned


def build(fixed: bool) -> Case:
    """Build LoHa beside a trained head, and drop some layers or all."""
    model = base()
    kept = [head(model)]
    drop = 0.1 if fixed else 1.0
    model = tuned(
        "LoHaConfig", model, r=4, alpha=8, module_dropout=drop, modules_to_save=kept
    )
    return plain_case(model.train(), lr=1e-2)


FAULT = Fault(
    "the head learns and the adapter does not",
    code="ADP011",
    places=("config module_dropout",),
    evident=-1,
    also=("GRD003",),
    families=("llama", "neox", "own"),
)
