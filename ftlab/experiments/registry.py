"""All experiments and stations, in order of code."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

from ftlab import experiments
from ftlab.experiments import deployment
from ftlab.experiments.deployment.station import Station
from ftlab.experiments.experiment import Experiment, Relation
from ftlab.records.errors import BadValueError

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
    return _all(experiments, Experiment.__subclasses__)


@cache
def all_stations() -> tuple[Station, ...]:
    """Return one of each station of `deployment`, in the order of a round trip.

    Examples
    --------
    >>> from ftlab.experiments.registry import all_stations
    >>> all_stations()[0].name
    'saved-tokenizer'
    """
    return _all(deployment, Station.__subclasses__)


def _all(package: ModuleType, kinds: Callable[[], list[type[_R]]]) -> tuple[_R, ...]:
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    found = [each() for each in kinds() if hasattr(each, "code")]
    return tuple(sorted(found, key=lambda each: each.code))


def named(every: Sequence[_R], only: str | Iterable[str] | None, kind: str) -> list[_R]:
    """Return those of these codes or names; the usual ones for ``None``.

    Raises
    ------
    BadValueError
        There is none of such a name.
    """
    if only is None:
        return [each for each in every if each.default]
    known = {name: each for each in every for name in (each.code, each.name)}
    names = [only] if isinstance(only, str) else list(only)
    for name in names:
        if name not in known:
            allowed = ", ".join(f"{each.name} ({each.code})" for each in every)
            msg = f"only={name!r}: there is no such {kind}. There are {allowed}."
            raise BadValueError(msg)
    return [known[name] for name in names]
