"""All experiments, in order of code."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import ftlab.experiments as package
from ftlab.experiments.experiment import Experiment


@cache
def all_experiments() -> tuple[Experiment, ...]:
    """Return one of each experiment of this folder.

    Examples
    --------
    >>> from ftlab.experiments.registry import all_experiments
    >>> all_experiments()[0].name
    'row-alone'
    """
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    found = [kind() for kind in Experiment.__subclasses__() if hasattr(kind, "code")]
    return tuple(sorted(found, key=lambda each: each.code))
