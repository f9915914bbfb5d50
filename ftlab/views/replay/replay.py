"""The replay of a recorded trace: a step walked op by op, without the model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields
from typing import Any

from ftlab.records.errors import BadValueError
from ftlab.records.texts import Excerpt, Listing, SampleText
from ftlab.records.trace import Trace, TracedLink, TracedOp
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.replay.grades import GRADES, Grades
from ftlab.views.replay.scene import Scene, scene_at
from ftlab.views.replay.text import replay_text
from ftlab.views.replay.tree import Tree
from ftlab.views.replay.walk import check_move, walked
from ftlab.views.view import View


class Replay(View[Scene]):
    """A step that went wrong, op by op, with the range of what each has made.

    It begins at the culprit. Nothing is executed: the ranges are those that
    `ftlab.debug` recorded.

    Parameters
    ----------
    trace
        What was recorded.
    at
        Index of the operation to begin at.

    Examples
    --------
    >>> from ftlab.records.trace import Trace, TracedOp
    >>> from ftlab.views.replay.replay import Replay
    >>> values = {"module": "mlp", "dtype": "float16"}
    >>> ops = (
    ...     TracedOp(0, "aten.mul.Tensor", **values, low=-2.0, high=60000.0),
    ...     TracedOp(1, "aten.exp.default", **values, parents=(0,), infs=3),
    ... )
    >>> headline = "Inf first appeared in mlp."
    >>> replay = Replay(Trace(173, 0, ops, culprit=1, headline=headline))
    >>> replay.back()
    Step 173, micro-batch 0: Inf first appeared in mlp.
    operation 0 of 2, forward: 1 operation before it begins
    modules    forward
      mlp      ###  60,000    <- it begins here
    operations
    >     0 aten.mul.Tensor              ###  float16[], -2 to 6e+04, mlp
          1 aten.exp.default             #### float16[], 3 Inf, mlp  <- it begins here
      line    unknown
    >>> replay.culprit
    1 aten.exp.default, forward, in mlp: float16[], 3 Inf
    >>> replay.at(7)
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: at(7): the step has operations 0 to 1; \
replay.culprit.index is 1.
    """

    title = "Replay"

    def __init__(self, trace: Trace, at: int | None = None) -> None:
        super().__init__()
        self._trace = trace
        self._grades = Grades(trace)
        self._tree = Tree(trace, self._grades)
        self._at = self._begin() if at is None else at

    # -- walking

    def step(self, to: str = "op", count: int = 1) -> Replay:
        """Go on to the next operation.

        ``to="module"`` leads to the next module, a pattern of paths such as
        ``"layers.*.mlp"`` to the next that it means.
        """
        check_move("step", to, count)
        return self.at(walked(self._trace.ops, self._at, to, count))

    def back(self, to: str = "op", count: int = 1) -> Replay:
        """Go back by an operation, or to where the module before began; see `step`."""
        check_move("back", to, count)
        return self.at(walked(self._trace.ops, self._at, to, -count))

    def at(self, index: int) -> Replay:
        """Go to an operation.

        Raises
        ------
        BadValueError
            When the step has no such operation.
        """
        last = len(self._trace.ops) - 1
        if not 0 <= index <= last:
            found = self.culprit
            hint = "" if found is None else f"; replay.culprit.index is {found.index}"
            msg = f"at({index!r}): the step has operations 0 to {last}{hint}."
            raise BadValueError(msg)
        self._at = index
        self.refresh()
        return self

    def to_culprit(self) -> Replay:
        """Go to the culprit; where it is unknown, to the first non-finite result."""
        return self.at(self._begin())

    def to_cause(self) -> Replay:
        """Go to where the ranges that led to the culprit stop being ordinary."""
        ops = self._trace.ops
        links = [link.index for link in self._trace.chain if link.index >= 0]
        unusual = [
            index
            for index in links
            if self._grades.of[index] > 0 or ops[index].low == ops[index].high == 0
        ]
        return self.at(min(unusual, default=self._begin()))

    # -- what can be seen

    @property
    def trace(self) -> Trace:
        """What was recorded."""
        return self._trace

    @property
    def op(self) -> TracedOp:
        """The operation that the replay stands at."""
        return self._trace.ops[self._at]

    @property
    def culprit(self) -> TracedOp | None:
        """The operation that the anomaly begins with; ``None`` if that is unknown."""
        found = self._trace.culprit
        return None if found < 0 else self._trace.ops[found]

    @property
    def chain(self) -> Listing[TracedLink]:
        """What led to the operation, the nearest first."""
        return Listing(self.summary.chain)

    @property
    def source(self) -> Listing[Excerpt]:
        """The text around the culprit's lines."""
        return self._trace.source

    @property
    def batch_text(self) -> Listing[SampleText]:
        """The batch's tokens as text, with those marked that are non-finite."""
        return self._trace.batch_text

    def __len__(self) -> int:
        return len(self._trace.ops)

    # -- the forms

    def widget(self) -> Any:
        """Return the one widget that walks: tree, operation, slider, buttons, keys."""
        from ftlab.views.replay.panel import ReplayPanel

        with self._lock:
            if self._widget is None:
                self._panel = ReplayPanel(self)
                self._widget = self._panel.widget
            return self._widget

    def size_of(self, summary: Scene) -> tuple[float, float]:
        """Return width and height in inches, by how many modules are shown."""
        return (10.0, 1.6 + 0.19 * max(len(summary.rows), 12))

    def draw_on(self, figure: Canvas, summary: Scene) -> None:
        """Draw the tree with its ranges, and the range of each operation beside it."""
        from ftlab.views.replay.figure import draw_replay

        draw_replay(figure, summary)

    def _refresh_widget(self, widget: Any) -> None:
        self._panel.refresh()

    def _stamp(self) -> Hashable:
        return self._at

    def _summarise(self) -> Scene:
        return scene_at(self._trace, self._grades, self._tree, self._at)

    def _table(self, summary: Scene) -> DataFrame:
        import pandas as pd

        columns: dict[str, Sequence[Any]] = {
            field.name: [getattr(op, field.name) for op in self._trace.ops]
            for field in fields(TracedOp)
        }
        marks = [GRADES[grade] for grade in self._grades.of]
        return pd.DataFrame({**columns, "mark": marks}).set_index("index")

    def _text(self, summary: Scene) -> str:
        return replay_text(summary)

    def _begin(self) -> int:
        if self._trace.culprit >= 0:
            return self._trace.culprit
        bad = [op.index for op in self._trace.ops if op.non_finite]
        return min(bad, default=len(self._trace.ops) - 1)
