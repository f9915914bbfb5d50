"""Score the rules on the fault gallery: what is found, where, and how soon.

This is how the rules are tested, and how a user tests rules of their own. `record` and
`judge` run one case; `score_faults` runs the gallery.
"""

from collections.abc import Iterable, Sequence

from ftlab.faults.fault import Case, Fault, Healthy
from ftlab.faults.registry import AREAS, list_faults, list_healthy
from ftlab.faults.variation import Variation
from ftlab.records.errors import BadValueError, UnknownNameError
from ftlab.rules.registry import PREFIXES
from ftlab.rules.report import Report
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run
from ftlab.session.scoring.board import Score, Tell, score
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


def score_faults(
    *,
    area: str = "",
    rules: Sequence[Rule] | None = None,
    faults: Iterable[Fault] | None = None,
    healthy: Iterable[Healthy] | None = None,
    seeds: int = 1,
    budget: float | None = None,
    tell: Tell | None = None,
) -> Score:
    """Run the fault gallery and say what the rules find, where, and how soon.

    Parameters
    ----------
    area
        Only the faults of this area, such as ``"adapter"``, their twins, and the
        healthy runs that look like them.
    rules
        The rules to test, your own among them; all of ftlab's by default.
    faults, healthy
        What to run: the gallery by default. A fault of your own names your rule's code
        as ``code``.
    seeds
        How often each is built, with other weights and batches.
    budget
        Share of the training thread's time that may be taken, as for `ftlab.watch`:
        what is costly is measured less often then, and found later.
    tell
        Called with each grade as it comes.

    Returns
    -------
    Score
        ``recall``, ``precision``, ``location_accuracy``, ``false_alarms``; shown, it is
        a table; ``.table()`` is a DataFrame.

    Examples
    --------
    >>> import ftlab
    >>> fault = ftlab.faults.load("lora-b-frozen")
    >>> score = ftlab.score_faults(faults=[fault], healthy=[])
    >>> score.recall, score.grades[0].place.endswith("lora_B.default.weight")
    (1.0, True)
    """
    if seeds < 1:
        msg = f"score_faults(seeds={seeds!r}): pass at least one seed."
        raise BadValueError(msg)
    chosen = list_faults() if faults is None else tuple(faults)
    if area:
        chosen = tuple(each for each in chosen if each.area == _known(area))
    if healthy is None:
        healthy = [each for each in list_healthy() if _resembles(each, area)]
    variations = [Variation(seed=seed) for seed in range(seeds)]
    return score(
        chosen, healthy, rules=rules, variations=variations, budget=budget, tell=tell
    )


def _resembles(healthy: Healthy, area: str) -> bool:
    """Tell whether a healthy run looks like a fault of an area; of any, if none."""
    return not area or any(c.startswith(PREFIXES[area]) for c in healthy.looks_like)


def _known(area: str) -> str:
    if area not in AREAS:
        msg = f"The gallery has no area {area!r}; its areas are {', '.join(AREAS)}."
        raise UnknownNameError(msg)
    return area
