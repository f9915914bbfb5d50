"""Whether a derivative is what its function's values say."""

from dataclasses import dataclass
from typing import Literal

DerivativeState = Literal["agrees", "wrong", "not differentiable here", "not checked"]


@dataclass(frozen=True, slots=True)
class Derivative:
    """The derivative of a function by one of its inputs.

    Attributes
    ----------
    name
        The input's or parameter's.
    state
        How it came out.
    elements
        Pairs of an output's and an input's element that were compared.
    wrong
        How many of them differ.
    output, element
        Indices of the pair that differs most, in the output and in the input.
    analytic, numeric
        Its two values: what backward says, and what differences of the values say.
    reason, fix
        What the pattern of what differs speaks for, and what to do.
    """

    name: str
    state: DerivativeState
    elements: int = 0
    wrong: int = 0
    output: tuple[int, ...] = ()
    element: tuple[int, ...] = ()
    analytic: float = float("nan")
    numeric: float = float("nan")
    reason: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Derivatives:
    """All of one function.

    Attributes
    ----------
    function
        What it is called.
    remarks
        What is wrong with the function as a whole.
    """

    function: str
    each: tuple[Derivative, ...]
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.remarks and all(e.state == "agrees" for e in self.each)
