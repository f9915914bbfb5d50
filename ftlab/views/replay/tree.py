"""The module tree of a trace, folded to what a reader needs where the replay stands.

The paths to the culprit and to the operation that is shown are open, everything else
is folded; neighbouring blocks that are alike, ``layers.0`` to ``layers.69``, are one
row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ftlab.records.trace import Trace, TracedOp
from ftlab.views.replay.grades import Grades

OWN = "(the step's own code)"
UPDATE = "the optimizer's step"
SEVERAL = "(several parameters at once)"
ALIKE = 3
"""So many blocks in a row that are alike are shown as one."""
UNREACHED = -1
PHASES = {"forward": "forward", "recompute": "forward", "backward": "backward"}
"""The column that an operation's range stands in; an optimizer's has its own."""

Path = tuple[str, ...]


@dataclass(slots=True)
class Node:
    """A module, or a place outside of all.

    Attributes
    ----------
    path, kind
        Names from the model down, and the class.
    children
        By name, in the order in which they first ran.
    own
        Operations in it and in no child.
    ops
        Operations in it and its children, by column.
    """

    path: Path
    kind: str = ""
    children: dict[str, Node] = field(default_factory=dict)
    own: int = 0
    indices: dict[str, list[int]] = field(default_factory=dict)
    ops: dict[str, NDArray[np.int64]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tree.

    Attributes
    ----------
    depth, label, kind
        How far to indent what; its class.
    worst
        For each column the index of the worst operation so far, -1 if there is none.
    grade
        The worst of them, -1 where nothing has run yet.
    at
        Where to go from here: its worst operation, or its first one.
    here, culprit
        Whether the operation that is shown, and the culprit, is in it.
    """

    depth: int
    label: str
    kind: str
    worst: tuple[int, ...]
    grade: int
    at: int
    here: bool = False
    culprit: bool = False


def path_of(op: TracedOp) -> Path:
    """Return where an operation stands in the tree, from the model down."""
    if op.phase == "optimizer":
        return (UPDATE, *op.parameter.split(".")) if op.parameter else (UPDATE, SEVERAL)
    if op.module is None:
        return (OWN,)
    return ("", *op.module.split(".")) if op.module else ("",)


class Tree:
    """The modules of a trace.

    Parameters
    ----------
    trace
        The step.
    grades
        Of its operations.

    Attributes
    ----------
    columns
        ``forward`` and ``backward``, or ``optimizer``.
    prefix
        What the paths of all modules begin with, up to a dot.
    """

    def __init__(self, trace: Trace, grades: Grades) -> None:
        self._trace = trace
        self._grades = grades
        found = (PHASES.get(op.phase, op.phase) for op in trace.ops)
        self.columns = tuple(dict.fromkeys(found))
        self.prefix = _prefix({op.parameter or op.module or "" for op in trace.ops})
        self._root = Node(())
        for op in trace.ops:
            self._add(op)
        self._close(self._root)

    def rows(self, at: int) -> list[Row]:
        """Return the lines as they are when the operation ``at`` has run."""
        ops, culprit = self._trace.ops, self._trace.culprit
        here = path_of(ops[at])
        bad = path_of(ops[culprit]) if culprit >= 0 else ()
        return list(_Walk(self, self._grades, at, here, bad).rows(self._root, 0))

    def _add(self, op: TracedOp) -> None:
        column = PHASES.get(op.phase, op.phase)
        node = self._root
        for name in path_of(op):
            node.indices.setdefault(column, []).append(op.index)
            node = node.children.setdefault(name, Node((*node.path, name)))
        node.indices.setdefault(column, []).append(op.index)
        node.own += 1
        node.kind = node.kind or (op.module_class if op.phase != "optimizer" else "")

    def _close(self, node: Node) -> None:
        for column, indices in node.indices.items():
            node.ops[column] = np.array(indices, np.int64)
        node.indices.clear()
        for child in node.children.values():
            self._close(child)


@dataclass(frozen=True, slots=True)
class _Walk:
    """One pass over the tree."""

    tree: Tree
    grades: Grades
    at: int
    here: Path
    bad: Path

    def rows(self, node: Node, depth: int, prefix: str = "") -> Iterator[Row]:
        shown = [(_only(child), child) for child in node.children.values()]
        for _, group in groupby(shown, key=lambda pair: self._alike(*pair)):
            run = list(group)
            if len(run) >= ALIKE:
                label = f"{prefix}{run[0][1].path[-1]} to {run[-1][1].path[-1]}"
                yield self._row([deep for deep, _ in run], depth, label)
                continue
            for deep, first in run:
                yield from self._unfolded(deep, depth, prefix + _label(first, deep))

    def _unfolded(self, node: Node, depth: int, label: str) -> Iterator[Row]:
        if not node.own and all(name.isdigit() for name in node.children):
            yield from self.rows(node, depth, f"{label}.")  # a list of blocks
            return
        yield self._row([node], depth, label)
        if self._is_open(node):
            yield from self.rows(node, depth + 1)

    def _is_open(self, node: Node) -> bool:
        path = node.path
        on_the_way = path in (self.here[: len(path)], self.bad[: len(path)])
        return bool(node.children) and (on_the_way or len(path) == 1)

    def _alike(self, deep: Node, first: Node) -> tuple[object, ...]:
        """Return what folded blocks must share to be one row; else something unique."""
        if not first.path[-1].isdigit() or self._is_open(deep) or self._marked(deep):
            return (id(deep),)
        worst = self._worst([deep])
        return (deep.kind, self._grade(worst), tuple(at < 0 for at in worst))

    def _marked(self, node: Node) -> bool:
        size = len(node.path)
        return node.path in (self.here[:size], self.bad[:size])

    def _row(self, nodes: Sequence[Node], depth: int, label: str) -> Row:
        worst = self._worst(nodes)
        grade = self._grade(worst)
        kind = nodes[0].kind if len(nodes) == 1 else f"{len(nodes)} x {nodes[0].kind}"
        scores = self.grades.score
        reached = [index for index in worst if index >= 0]
        first = min(int(ops[0]) for node in nodes for ops in node.ops.values())
        return Row(
            depth,
            label,
            kind,
            worst,
            grade,
            max(reached, key=lambda index: scores[index], default=first),
            len(nodes) == 1 and nodes[0].path == self.here[: len(nodes[0].path)],
            len(nodes) == 1 and nodes[0].path == self.bad[: len(nodes[0].path)],
        )

    def _worst(self, nodes: Sequence[Node]) -> tuple[int, ...]:
        found = []
        for column in self.tree.columns:
            parts = [node.ops[column] for node in nodes if column in node.ops]
            so_far = [ops[: np.searchsorted(ops, self.at, "right")] for ops in parts]
            worst = [self.grades.worst(ops) for ops in so_far if len(ops)]
            scores = self.grades.score
            found.append(max(worst, key=lambda index: scores[index], default=-1))
        return tuple(found)

    def _grade(self, worst: Sequence[int]) -> int:
        grades = [int(self.grades.of[index]) for index in worst if index >= 0]
        return max(grades, default=UNREACHED)


def _prefix(modules: set[str]) -> str:
    """Return the path that all modules lie in, with its dot; blocks keep their list."""
    shared: list[str] = []
    for names in zip(*(name.split(".") for name in modules if name), strict=False):
        if len(set(names)) > 1:
            if shared and all(name.isdigit() for name in names):
                shared.pop()
            break
        shared.append(names[0])
    return "".join(f"{name}." for name in shared)


def _only(node: Node) -> Node:
    """Go down while a module does nothing itself and holds one other."""
    while not node.own and len(node.children) == 1 and node.path != (UPDATE,):
        node = next(iter(node.children.values()))
    return node


def _label(first: Node, deep: Node) -> str:
    names = deep.path[len(first.path) - 1 :]
    return ".".join(name for name in names if name) or deep.kind or "the model"
