"""Finds the cases: all that the family files define."""

import functools
import importlib

from benchmarks.anomalies.case import Case, Phase

FAMILIES = (
    "losses",
    "loops_and_data",
    "own_backward",
    "own_backward_amid",
    "own_modules",
    "broken_before",
    "models",
    "half_precision",
    "derivatives",
    "adapters",
    "trainers",
    "optimizers",
)
"""The files that hold cases."""


@functools.cache
def list_cases(*phases: Phase) -> tuple[Case, ...]:
    """Return all cases, or those of some phases, family by family.

    Examples
    --------
    >>> from benchmarks.anomalies.registry import list_cases
    >>> {case.expected.phase for case in list_cases("backward")}
    {'backward'}
    """
    found = []
    for family in FAMILIES:
        module = importlib.import_module(f"benchmarks.anomalies.{family}")
        found += [value for value in vars(module).values() if isinstance(value, Case)]
    return tuple(c for c in found if not phases or c.expected.phase in phases)


def load(case_id: str) -> Case:
    """Return the case with this id.

    Examples
    --------
    >>> from benchmarks.anomalies.registry import load
    >>> load("log-of-zero").family
    'losses'
    """
    return next(case for case in list_cases() if case.id == case_id)
