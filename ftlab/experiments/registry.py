"""All experiments and stations, in order of code."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

from ftlab import experiments
from ftlab.experiments import deployment
from ftlab.experiments.deployment.station import Station
from ftlab.experiments.experiment import Experiment, Relation

_R = TypeVar("_R", bound=Relation)


@cache
def all_experiments() -> tuple[Experiment, ...]:
    """Return one of each experiment of this folder.

    Examples
    --------
    >>> from ftlab.experiments.registry import all_experiments
    >>> all_experiments()[0].name
    'row-alone'
    """
    return _all(experiments, Experiment)  # type: ignore[type-abstract]


@cache
def all_stations() -> tuple[Station, ...]:
    """Return one of each station of `deployment`, in the order of a round trip.

    Examples
    --------
    >>> from ftlab.experiments.registry import all_stations
    >>> all_stations()[0].name
    'saved-tokenizer'
    """
    return _all(deployment, Station)  # type: ignore[type-abstract]


def _all(package: ModuleType, kind: type[_R]) -> tuple[_R, ...]:
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    found = [each() for each in kind.__subclasses__() if hasattr(each, "code")]
    return tuple(sorted(found, key=lambda each: each.code))
