"""The names of calls in places: as a user writes them, ``optimizer.step``."""

from ftlab.records.finding import Place
from ftlab.runlog.run import Run


def method_place(run: Run, target: str, method: str) -> Place:
    """Name a method of one of the run's optimizers or schedulers.

    Parameters
    ----------
    run
        The run; where it has one of the kind only, no number is said.
    target
        What the ledger calls the object, such as ``"optimizer 0"``.
    method
        The method that is called.
    """
    kind, _, number = target.rpartition(" ")
    known = run.facts.schedulers if kind == "scheduler" else run.facts.optimizers
    alone = number == "0" and len(known) <= 1
    return Place("call", f"{kind if alone else target}.{method}")
