"""How long a schedule rises and how long it is, as its arguments say."""

from collections.abc import Mapping, Sequence
from typing import Any

TOTALS = ("num_training_steps", "total_steps", "T_max", "total_iters")
"""Arguments that say how many of its own steps a schedule takes."""

Asked = Mapping[str, Any]


def warmup_of(kind: str, asked: Asked) -> tuple[float, str]:
    """Return the steps of warm-up and the argument that says so; 0 without one.

    Parameters
    ----------
    kind, asked
        Class and arguments of a scheduler, see `ftlab.records.facts.Facts.schedulers`.

    Examples
    --------
    >>> from ftlab.records.schedule_lengths import warmup_of
    >>> warmup_of("LambdaLR", {"num_warmup_steps": 10, "num_training_steps": 100})
    (10.0, 'num_warmup_steps')
    """
    if isinstance(steps := asked.get("num_warmup_steps"), int | float):
        return float(steps), "num_warmup_steps"
    inner: Sequence[Asked] = asked.get("schedulers") or ()
    milestones = asked.get("milestones") or ()
    if kind == "SequentialLR" and inner and milestones and _rises(inner[0]):
        return float(milestones[0]), "milestones"
    if kind == "OneCycleLR" and asked.get("phases"):
        return float(asked["phases"][0]["end_step"]), "pct_start"
    return 0.0, ""


def total_of(kind: str, asked: Asked) -> tuple[float, str]:
    """Return how many steps a schedule takes and the argument; 0 where none says so.

    Examples
    --------
    >>> from ftlab.records.schedule_lengths import total_of
    >>> total_of("LambdaLR", {"num_warmup_steps": 10, "num_training_steps": 100})
    (100.0, 'num_training_steps')
    """
    inner: Sequence[Asked] = asked.get("schedulers") or ()
    milestones = asked.get("milestones") or ()
    if kind == "SequentialLR" and inner and milestones:
        last, name = total_of(str(inner[-1].get("class")), inner[-1])
        return (float(milestones[-1]) + last, name) if last else (0.0, "")
    if "num_decay_steps" in asked:
        parts = ("num_warmup_steps", "num_stable_steps", "num_decay_steps")
        return float(sum(asked[part] for part in parts)), "num_decay_steps"
    if kind == "LinearLR" and _rises({"class": kind, **asked}):
        return 0.0, ""
    for name in TOTALS:
        if isinstance(steps := asked.get(name), int | float) and kind != "ConstantLR":
            return float(steps), name
    return 0.0, ""


def _rises(one: Asked) -> bool:
    below = float(one.get("start_factor", 1.0)) < float(one.get("end_factor", 1.0))
    return one.get("class") == "LinearLR" and below
