"""Score the rules on the fault gallery: what is found, where, and how soon.

This is how the rules are tested, and how a user tests rules of their own. `record` and
`judge` run one case; `score_faults` runs the gallery.
"""

from ftlab.faults.fault import Case
from ftlab.rules.report import Report
from ftlab.runlog.run import Run
from ftlab.session.scoring.record import watch_case


def record(case: Case, steps: int, *, interval: int = 16) -> Run:
    """Run a case for some iterations and return what was recorded.

    Parameters
    ----------
    case
        The live objects and the loop body, or a trainer; see `ftlab.faults.fault`.
    steps
        Iterations of the loop; a trainer decides for itself.
    interval
        Steps between two measurements of weights, adapters and updates.

    Raises
    ------
    Exception
        Whatever the case raises.

    Examples
    --------
    >>> from ftlab.faults.registry import load
    >>> from ftlab.session.score import record
    >>> len(record(load("lora-b-frozen").build(fixed=True), steps=3).steps)
    3
    """
    watched = watch_case(case, steps, interval=interval, judged=False)
    if watched.error is not None:
        raise watched.error
    return watched.run


def judge(case: Case, steps: int, *, interval: int = 16) -> Report:
    """Run a case and ask all rules, while it runs and at its end."""
    watched = watch_case(case, steps, interval=interval)
    if watched.error is not None:
        raise watched.error
    return watched.report
