"""Parameters that are held outside of the module, as ``functional_call`` has them.

``torch.func.functional_call(model, params, ...)`` runs a model with other tensors in
the place of its parameters. The model's own then get no gradient and are in no group,
and the optimizer holds tensors that the model does not have: all of it as it should be.
"""

from ftlab.runlog.run import Run

TABLE = "swapped"


ANEW = "made_anew"


def made_anew(run: Run) -> frozenset[str]:
    """Name the parameters that the forward makes anew, by what GRD003 says."""
    return frozenset(record.name for record in run.names(ANEW).values())


def held_outside(run: Run) -> frozenset[str]:
    """Name the parameters in whose place others stood while the model ran.

    They were looked for at the first step, and at each step at which the modules were
    followed.
    """
    return frozenset(record.name for record in run.names(TABLE).values())
