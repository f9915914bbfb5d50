"""Calculations in answers, between the marks that GSM8K has for a calculator."""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Set as AbstractSet
from typing import NamedTuple

from ftlab.probes.data.answers.answer_faults import Placed, asks_about
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault

OPENED = "<<"
"""How a calculation begins: `<<3+4=7>>`."""

_MARKED = re.compile(r"<<([\d.,$+*/() -]{3,80})=([-$]{0,2}[\d.,]{1,20})>>")
_NOTES = str.maketrans("", "", "$, ")

_ABOUT = re.compile(
    r"mistake|incorrect|wrong|\berrors?\b|\bcheck|verif|correct\b|\bfix\b"
    r"|true or false",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by a wrong calculation."""

ROUGHLY = 0.01
"""Part by which a result of rounded numbers may be off."""

_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


class Sum(NamedTuple):
    """What a calculation gives, and how many of its operators there are."""

    value: float
    steps: int


def wrong_calculations(row: RowParts, words: AbstractSet[str]) -> Iterator[Placed]:
    """Yield the answers in which a calculation has another result than it gives.

    Parameters
    ----------
    words
        Whether `OPENED` stands in the row.

    Examples
    --------
    >>> from ftlab.probes.data.answers.calculations import wrong_calculations
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"question": "How many?", "answer": "3 + 4 = <<3+4=9>>9"})
    >>> [(fault.char, fault.says) for _, fault in wrong_calculations(row, {"<<"})]
    [(8, "'3+4=9', which is 7")]
    """
    if OPENED not in words or asks_about(row, _ABOUT):
        return
    for part in row.answers:
        for found in _MARKED.finditer(part.text):
            value = _other_result(*found.groups())
            if value is not None:
                says = f"{found.group()[2:-2]!r}, which is {value:.10g}"
                yield part, TextFault("calculation-wrong", found.start(), says)
                break


def _other_result(calculated: str, written: str) -> float | None:
    """Return what a calculation gives; ``None`` where that is what is written."""
    calculated, written = calculated.translate(_NOTES), written.translate(_NOTES)
    try:
        found = _value(ast.parse(calculated, mode="eval").body)
        result = float(written)
    except (ValueError, SyntaxError, ArithmeticError, RecursionError):
        return None
    if found is None or not found.steps:
        return None
    places = len(written.partition(".")[2])
    off = abs(found.value - result)
    if "." in calculated and off <= ROUGHLY * abs(found.value):
        return None
    whole = round(found.value, 9).is_integer()
    return None if off <= (1e-9 if whole else 10.0**-places) else found.value


def _value(node: ast.expr) -> Sum | None:
    """Work out a calculation with numbers; ``None`` where it holds anything else."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return Sum(float(value), 0)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            of = _value(inner)
            return of and Sum(-of.value, of.steps)
        case ast.BinOp(left=one, op=kind, right=two) if type(kind) in _OPERATORS:
            left, right = _value(one), _value(two)
            if left is None or right is None:
                return None
            value = _OPERATORS[type(kind)](left.value, right.value)
            return Sum(value, left.steps + right.steps + 1)
    return None
