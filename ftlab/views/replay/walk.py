"""Which operation of a recorded step a move leads to; as in the live debugger."""

from collections.abc import Callable, Sequence

from ftlab.records.errors import BadValueError, UnknownNameError
from ftlab.records.near import near
from ftlab.records.path_pattern import is_module
from ftlab.records.trace import TracedOp

UNITS = ("op", "module")


def walked(ops: Sequence[TracedOp], at: int, to: str, moves: int) -> int:
    """Return where ``moves`` by ``to`` lead from the operation ``at``; within the step.

    A stay in a module is a run of neighbouring operations with the same module and
    phase. Moves by module, or to modules that a pattern means, lead to where one
    begins.

    Raises
    ------
    UnknownNameError
        When nothing in the step is in such a module.

    Examples
    --------
    >>> from ftlab.records.trace import TracedOp
    >>> from ftlab.views.replay.walk import walked
    >>> ops = [TracedOp(i, "op", module=name) for i, name in enumerate("aabb")]
    >>> (
    ...     walked(ops, 0, "module", 1),
    ...     walked(ops, 3, "module", -1),
    ...     walked(ops, 0, "b", 1),
    ... )
    (2, 0, 2)
    """
    last = len(ops) - 1
    if to == "op":
        return min(max(at + moves, 0), last)
    starts = _starts(ops, to)
    for _ in range(abs(moves)):
        if moves > 0:
            at = min((start for start in starts if start > at), default=last)
            continue
        if to == "module":
            at = max((start for start in starts if start <= at), default=0)
        at = max((start for start in starts if start < at), default=0)
    return at


def check_move(verb: str, to: str, count: int) -> None:
    """Refuse a move that has no meaning.

    Raises
    ------
    BadValueError
        With what can be passed.
    """
    if not to.strip() or count < 1:
        msg = (
            f"{verb}(to={to!r}, count={count!r}): pass to='op', to='module' or a "
            "pattern of modules such as 'layers.*.mlp', and a count from 1; at(index) "
            "goes to any operation."
        )
        raise BadValueError(msg)


def _starts(ops: Sequence[TracedOp], to: str) -> list[int]:
    if to == "module":
        places = [(op.place, op.phase) for op in ops]
        return [i for i in range(len(ops)) if i == 0 or places[i] != places[i - 1]]
    inside = _inside(to)
    found = [
        i
        for i, op in enumerate(ops)
        if inside(op) and (i == 0 or not inside(ops[i - 1]))
    ]
    if not found:
        names = near(to, {op.module for op in ops if op.module})
        msg = f"to={to!r}: no operation of this step is in such a module; {names}."
        raise UnknownNameError(msg)
    return found


def _inside(pattern: str) -> Callable[[TracedOp], bool]:
    return lambda op: op.module is not None and is_module(op.module, pattern)
