"""Two executions: where they part, as a sentence, a heatmap and a table."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from ftlab.records.difference import Born, Differences
from ftlab.records.printable import harmless
from ftlab.views.drawn import Canvas
from ftlab.views.style import SEVERITY, count, number
from ftlab.views.view import Rows, View

WIDTH = 96
"""Characters of a line of text."""
TALLEST = 56
"""Rows of modules in a picture; where there are more, blocks are shown alone."""
NAMED = 28
"""Rows that are named."""


class DifferenceView(View["Differences"]):
    """Where two executions part by more than rounding.

    Attributes
    ----------
    differences
        All that was measured.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.difference import Differences
    >>> from ftlab.views.executions.difference import DifferenceView
    >>> nothing = np.zeros(0)
    >>> DifferenceView(Differences(("eager", "sdpa"), outcome=1.1))
    eager and sdpa are equal: 0 tensors of 0 modules differ by no more than rounding
      the outputs differ by 1.1 x the noise floor
    """

    title = "Two executions"
    headings = (
        "module",
        "call",
        "kind",
        "path",
        "phase",
        "born",
        "carried",
        "relative",
    )

    def __init__(self, differences: Differences) -> None:
        super().__init__(differences)
        self.differences = differences

    @property
    def equal(self) -> bool:
        """Whether the two differ by no more than rounding."""
        return self.differences.equal

    @property
    def born(self) -> tuple[Born, ...]:
        """Where differences are born, in order of execution."""
        return self.differences.born

    def headline(self) -> str:
        """Say in one line where they part."""
        return str(harmless(sentences(self.differences)[0]))

    def _table(self, summary: Differences) -> Rows:
        return summary.rows

    def _text(self, summary: Differences) -> str:
        first, *rest = sentences(summary)
        lines = textwrap.wrap(first, WIDTH, subsequent_indent="  ")
        for each in rest:
            lines += textwrap.wrap(
                each, WIDTH, initial_indent="  ", subsequent_indent="    "
            )
        return "\n".join(lines)

    def size_of(self, summary: Differences) -> tuple[float, float]:
        """Give each module a line, and the sentences room."""
        said = len(self._text(summary).splitlines())
        rows = min(len(_shown(summary)), TALLEST)
        return (9.0, 1.6 + 0.17 * said + 0.13 * rows)

    def draw_on(self, figure: Canvas, summary: Differences) -> None:
        """Draw depth against position, with the birthplaces marked."""
        figure.suptitle(_drawn(self._text(summary)), x=0.01, ha="left", fontsize=9)
        shown = _shown(summary)
        if not shown:
            figure.subplots().set_axis_off()
            return
        heat, bars = figure.subplots(
            1, 2, sharey=True, gridspec_kw={"width_ratios": [3, 1]}
        )
        _draw_heat(figure, heat, summary, shown)
        _draw_born(bars, summary, shown)


def sentences(found: Differences) -> list[str]:
    """Say where two executions part; the first sentence is the answer."""
    a, b = found.sides
    telling = [each for each in found.born if each.changes is not False]
    if telling:
        said = [f"{a} and {b} part {_born(telling[0], found)}"]
        said += [f"and {_born(each, found)}" for each in telling[1:]]
        if any(each.phase == "forward" for each in telling) and found.rest < EXACT:
            said.append("with these tensors put right, the outputs are equal")
    else:
        modules = len({row.module for row in found.rows})
        said = [
            f"{a} and {b} are equal: {count(len(found.rows), 'tensor')} of "
            f"{count(modules, 'module')} differ by no more than rounding"
        ]
    said += _outcome(found)
    said += [
        f"without consequence: {_born(each, found)}"
        for each in found.born
        if each.changes is False
    ]
    said += [
        f"only {side} runs {_listed(names)}"
        for side, names in zip(found.sides, found.alone, strict=True)
        if names
    ]
    return [*said, *found.notes]


EXACT = 1e-9
"""What is left of a difference in float64 when all of its causes are put right."""


def _born(born: Born, found: Differences) -> str:
    backward = " in backward" if born.phase == "backward" else ""
    said = f"at {born.module or 'the model'}{backward}"
    operation = next((op for op in born.ops[::-1] if op), "")
    line = next((line for line in born.lines[::-1] if line), "")
    if operation:
        said += f", {_operations(born.ops, found.sides)}" + (
            f" ({line})" if line else ""
        )
    said += f", in {born.tensor}"
    if len(born.tokens):
        said += f", {where(born.tokens, found.tokens)}"
    over = (
        "differs" if np.isinf(born.ratio) else f"{number(born.ratio)} x the noise floor"
    )
    said += f": {over}"
    if born.weights:
        said += f"; its {_listed(born.weights)} differ" + "s" * (len(born.weights) == 1)
    if born.also:
        said += f"; likewise in {count(len(born.also), 'other block')}"
    return said


def _operations(ops: tuple[str, str], sides: tuple[str, str]) -> str:
    if ops[0] == ops[1]:
        return f"operation {ops[0]}"
    if all(ops):
        return f"operation {ops[0]} of {sides[0]}, {ops[1]} of {sides[1]}"
    return f"operation {ops[0] or ops[1]}, which only {sides[0 if ops[0] else 1]} has"


def where(tokens: Any, of: Any) -> str:
    """Say at which rows and positions tokens stand.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.views.executions.difference import where
    >>> where(np.array([[0, 3], [2, 4], [2, 5]]), np.zeros((8, 2)))
    'rows 0 and 2, positions 3-5'
    >>> where(np.zeros((8, 2), int), np.zeros((8, 2)))
    'all tokens'
    """
    if len(tokens) == len(of):
        return "all tokens"
    rows, positions = (np.unique(tokens[:, column]) for column in (0, 1))
    said = f"row{'s' * (len(rows) > 1)} {_listed([str(row) for row in rows])}"
    low, high = positions[0], positions[-1]
    span = f"position {low}" if low == high else f"positions {low}-{high}"
    return f"{said}, {span}"


def _outcome(found: Differences) -> list[str]:
    said = []
    if np.isfinite(found.outcome):
        said.append(f"the outputs differ by {number(found.outcome)} x the noise floor")
    elif np.isinf(found.outcome):
        said.append("the outputs differ")
    if len(found.kl) and not found.equal:
        row, position = found.tokens[int(found.kl.argmax())]
        said.append(
            f"next-token distributions: KL up to {number(float(found.kl.max()))} nats "
            f"(row {row}, position {position})"
        )
        if found.greedy >= 0:
            row, position = found.tokens[found.greedy]
            said[-1] += (
                f"; first another likeliest token at row {row}, position {position}"
            )
    return said


def _listed(names: Sequence[str]) -> str:
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return (
        " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
    )


def _shown(found: Differences) -> list[int]:
    """Choose the rows of the heatmap: all modules, or the birthplaces and blocks."""
    every = list(range(len(found.modules)))
    if len(every) <= TALLEST:
        return every
    rows = (_row_of(found, every, each.module) for each in found.born)
    born = sorted({at for at in rows if at is not None})[: TALLEST // 2]
    blocks = [
        at
        for at in every
        if found.modules[at].rpartition(".")[2].isdigit() and at not in born
    ]
    step = -(-len(blocks) // (TALLEST - len(born)))
    return sorted([*born, *blocks[:: max(1, step)]]) or every[:TALLEST]


def _drawn(text: str) -> str:
    """Write what others named so that matplotlib takes it for text."""
    return str(harmless(text)).replace("$", r"\$")


def _draw_heat(figure: Any, axes: Any, found: Differences, shown: list[int]) -> None:
    from matplotlib.colors import LogNorm

    values = np.clip(found.heat[shown], 0.1, 1e6)
    ceiling = max(10.0, float(values.max()))
    image = axes.imshow(
        values,
        aspect="auto",
        cmap="magma_r",
        norm=LogNorm(0.1, ceiling),
        interpolation="none",
    )
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.6, aspect=40)
    bar.set_label("difference over the noise floor (both run freely)", fontsize=8)
    step = max(1, -(-len(shown) // NAMED))
    axes.set_yticks(
        range(0, len(shown), step),
        [_drawn(found.modules[shown[at]]) for at in range(0, len(shown), step)],
        fontsize=7,
    )
    starts = [
        i
        for i, (_, position) in enumerate(found.tokens)
        if i == 0 or found.tokens[i - 1][0] != found.tokens[i][0]
    ]
    axes.set_xticks(starts, [f"row {found.tokens[i][0]}" for i in starts], fontsize=7)
    for start in starts[1:]:
        axes.axvline(start - 0.5, color="#888888", linewidth=0.6)
    for each in found.born:
        at = _row_of(found, shown, each.module)
        if at is not None and each.changes is not False:
            axes.axhline(at, color=SEVERITY["error"], linewidth=0.8, linestyle=":")


def _draw_born(axes: Any, found: Differences, shown: list[int]) -> None:
    largest: dict[str, float] = {}
    for each in found.born:
        if each.changes is not False:
            for module in (each.module, *each.also):
                largest[module] = max(largest.get(module, 0.0), min(each.ratio, 1e6))
    for module, ratio in largest.items():
        at = _row_of(found, shown, module)
        if at is not None:
            axes.barh(at, ratio, color=SEVERITY["error"], height=0.8)
            axes.plot([ratio], [at], marker="D", color=SEVERITY["error"], markersize=4)
    axes.set_xscale("log")
    axes.set_xlim(0.5, max([10.0, *largest.values()]) * 3)
    axes.axvline(1, color="#888888", linewidth=0.8)
    axes.set_xlabel("born here (same inputs)", fontsize=8)
    axes.tick_params(labelleft=False, labelsize=7)


def _row_of(found: Differences, shown: list[int], module: str) -> int | None:
    """Return the row of a module, or of the innermost around it that has one."""
    names = [found.modules[at] for at in shown]
    while module:
        if module in names:
            return names.index(module)
        module = module.rpartition(".")[0]
    return names.index("the model") if "the model" in names else None
