"""How a module was called in a step, or not, and how it is named in a finding."""

from collections.abc import Sequence
from dataclasses import dataclass

from ftlab.records.finding import Place
from ftlab.records.name_words import short_name

MODEL = "model"
"""What the outermost module is called in the table."""


@dataclass(frozen=True, slots=True)
class Call:
    """How a module was called, or not; see `graph.module_calls.Unreached`."""

    name: str
    kind: str
    to: str
    module_class: str
    function: str = ""

    def holds(self, parameter: str) -> bool:
        """Tell whether a parameter is within the module."""
        return self.name == MODEL or parameter.startswith(f"{self.name}.")


def said(call: Call) -> str:
    """Name the module of a call, with its class."""
    name = "the model" if call.name == MODEL else short_name(call.name)
    return f"{name} ({call.module_class})"


def named(calls: Sequence[Call]) -> tuple[Place, ...]:
    """Return the modules of calls as places."""
    return tuple(Place("module", call.name) for call in calls)
