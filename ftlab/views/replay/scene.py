"""One moment of a replay: what all of its forms show."""

from dataclasses import dataclass

import numpy as np

from ftlab.records.trace import Trace, TracedLink, TracedOp, tensor_words
from ftlab.views.replay.grades import BAD, Grades
from ftlab.views.replay.tree import Row, Tree
from ftlab.views.style import count, number

AROUND = 4
"""Operations shown before and behind the one that is looked at."""
LONGEST = 12
"""Links that a chain has at most."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a replay shows where it stands.

    Attributes
    ----------
    trace, grades
        The step, and how near each operation comes to what is no number.
    columns, rows
        The module tree as it is by now, and the phases it has a range for.
    at
        Index of the operation that is shown.
    nearby
        Operations around it.
    chain
        What led to it, the nearest first.
    prefix
        What the paths of all modules begin with, up to a dot.
    """

    trace: Trace
    grades: Grades
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    at: int
    nearby: tuple[TracedOp, ...]
    chain: tuple[TracedLink, ...]
    prefix: str = ""

    @property
    def op(self) -> TracedOp:
        """The operation that is shown."""
        return self.trace.ops[self.at]

    @property
    def line(self) -> str:
        """The line to read: in backward that of the operation it belongs to."""
        made = self.op.forward
        if made < 0:
            return self.op.line
        forward = self.trace.ops[made]
        return f"{forward.line} (forward: {forward.op} {made})"

    def place(self, op: TracedOp) -> str:
        """Name the module of an operation, without what all paths begin with."""
        return op.place.removeprefix(self.prefix)

    def short_place(self, op: TracedOp) -> str:
        """Name the module of an operation by the end of its path."""
        if op.phase == "optimizer" or not op.module:
            return self.place(op)
        return ".".join(op.module.split(".")[-2:])

    @property
    def reached(self) -> tuple[int, ...]:
        """The columns of the tree that anything has a range in by now."""
        count = range(len(self.columns))
        return tuple(i for i in count if any(row.worst[i] >= 0 for row in self.rows))

    @property
    def cause(self) -> str:
        """The cause in one sentence, where the debugger could tell it."""
        return str(self.trace.report.get("cause") or "")

    def range_of(self, index: int) -> str:
        """Write the largest magnitude of an operation, or what it has instead."""
        op = self.trace.ops[index]
        if self.grades.of[index] == BAD:
            return "NaN" if op.nans else "Inf"
        magnitude = float(self.grades.magnitude[index])
        return "-" if np.isnan(magnitude) else number(magnitude)

    def standing(self) -> str:
        """Say where in the step the replay stands."""
        op, culprit = self.op, self.trace.culprit
        words = f"operation {op.index} of {len(self.trace.ops)}, {op.phase}"
        if op.index == culprit:
            return f"{words}: it begins here"
        if culprit < 0:
            return words
        distance = count(abs(op.index - culprit), "operation")
        side = "before" if op.index < culprit else "after"
        return f"{words}: {distance} {side} it begins"


def scene_at(trace: Trace, grades: Grades, tree: Tree, at: int) -> Scene:
    """Return what is to be seen when the operation ``at`` has run."""
    rows = tuple(tree.rows(at))
    nearby = trace.ops[max(at - AROUND, 0) : at + AROUND + 1]
    chain = chain_of(trace, grades, at)
    shown = (trace, grades, tree.columns, rows, at, nearby, chain)
    return Scene(*shown, prefix=tree.prefix)


def chain_of(trace: Trace, grades: Grades, at: int) -> tuple[TracedLink, ...]:
    """Follow the most unusual of what each operation read, back to what is in order.

    The culprit's is the one that the debugger found, with the tensors that existed
    before the step; their ranges are not in the trace elsewhere.
    """
    if at == trace.culprit and trace.chain:
        return trace.chain
    links: list[TracedLink] = []
    while len(links) < LONGEST:
        made = np.array([p for p in trace.ops[at].parents if p >= 0], np.int64)
        if not len(made):
            names = [trace.sources[-p - 1] for p in trace.ops[at].parents if p < 0]
            links += [TracedLink(-1, name) for name in names[:1]]
            break
        at = grades.worst(made)
        links.append(_link(trace.ops[at]))
        if grades.of[at] == 0 and not trace.ops[at].making:
            break
    return tuple(links)


def _link(op: TracedOp) -> TracedLink:
    words = f"by {op.op} {op.index}, {op.place}"
    words += f", {op.line}" if op.line else ""
    values = (op.dtype, op.shape, op.low, op.high, op.nans, op.infs)
    return TracedLink(op.index, words, *values)


def made_words(op: TracedOp) -> str:
    """Say what an operation has made."""
    if op.making == "view":
        return "a view: computes nothing"
    words = tensor_words(op)
    if op.making == "uninitialised":
        return f"{words}, memory without values"
    return words or "no tensor"
