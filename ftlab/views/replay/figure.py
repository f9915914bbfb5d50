"""A moment of a replay as a picture: the tree with its ranges, and the whole step."""

import math
from typing import Any

import numpy as np

from ftlab.views.drawn import Canvas
from ftlab.views.replay.grades import BAD, GRADES
from ftlab.views.replay.scene import Scene
from ftlab.views.replay.shade import BARS

TOP = 1e9
"""Where what is not finite is drawn."""
LONGEST = 44
"""Characters of a module's name."""


def draw_replay(figure: Canvas, scene: Scene) -> None:
    """Draw the module tree on the left, the range of each operation on the right."""
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _draw_tree(left, scene)
    _draw_ops(right, scene)
    title = scene.trace.title
    why = f"\n{scene.cause}" if scene.cause else ""
    figure.suptitle(f"{title}{why}", fontsize=9, ha="left", x=0.01, wrap=True)


def _draw_tree(axes: Any, scene: Scene) -> None:
    axes.set_title("modules, largest value so far", fontsize=8, loc="left")
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(len(scene.rows), -1))
    width = 0.17
    edges = [1 - width * (len(scene.columns) - i) for i in range(len(scene.columns))]
    for at, name in zip(edges, scene.columns, strict=True):
        axes.text(at + 0.01, -0.6, name, fontsize=7, va="center", color="dimgray")
    for line, row in enumerate(scene.rows):
        bold = "bold" if row.culprit else "normal"
        text = f"{row.label} ({row.kind})" if row.kind else row.label
        text = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
        shade = "black" if row.grade >= 0 else "darkgray"
        axes.text(
            0.015 * row.depth, line, text, fontsize=7, va="center", weight=bold, c=shade
        )
        for at, index in zip(edges, row.worst, strict=True):
            if index >= 0:
                grade = int(scene.grades.of[index])
                box = {"facecolor": BARS[grade], "alpha": 0.75, "pad": 1.2, "lw": 0}
                words = scene.range_of(index)
                paint = {"bbox": box} if grade else {}
                axes.text(at + 0.01, line, words, fontsize=7, va="center", **paint)


def _draw_ops(axes: Any, scene: Scene) -> None:
    grades, trace = scene.grades, scene.trace
    height = np.where(np.isinf(grades.magnitude), TOP, grades.magnitude)
    height = np.where(height > 0, np.clip(height, 1e-12, TOP), np.nan)
    order = np.arange(len(trace.ops))
    for grade, name in enumerate(GRADES):
        chosen = (grades.of == grade) & ~np.isnan(height)
        for later, faded in ((order <= scene.at, 1.0), (order > scene.at, 0.15)):
            shown = chosen & later
            axes.scatter(
                order[shown],
                height[shown],
                s=7,
                color=BARS[grade],
                alpha=faded,
                lw=0,
                label=name if faded == 1.0 and shown.any() else None,
            )
    axes.set(yscale="log", xlim=(-1, max(len(trace.ops), 2)))
    if (grades.of == BAD).any():
        ticks = [10.0**power for power in range(-12, 9, 4)]
        axes.set_yticks([*ticks, TOP], [*(f"{tick:.0e}" for tick in ticks), "NaN, Inf"])
    axes.axvline(scene.at, color="gray", lw=0.8)
    if trace.culprit >= 0:
        spot = (trace.culprit, _spot(float(height[trace.culprit])))
        axes.annotate("it begins here", spot, (6, -10), textcoords="offset points")
    axes.set_title("magnitude of each operation's output", fontsize=8, loc="left")
    axes.set_xlabel(f"operation; {scene.standing()}", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=7, loc="lower right", markerscale=2)


def _spot(height: float) -> float:
    return 1.0 if math.isnan(height) else height
