"""The Python half of the live front ends: columns go out once, in small messages.

Who calls whom: a view puts values into its `Columns` and calls `ColumnsWidget.flush`
at most 5 times a second; ``flush`` sends what is new as one binary message. In the
browser ``columns.js`` owns the data of a widget (not of one of its displays) and tells
the displays to paint. When columns were pooled or rows added, everything is sent at
once through the trait ``snap``, and so it is from time to time: a page that was
reloaded while the kernel was busy has missed messages, and ``snap`` makes it whole.

A message is ``{"t": "columns", "epoch", "at", "rows"}`` with one buffer of columns; a
snap is eight int32 (epoch, rows, columns, start, stride, uneven and two zeros) and
columns. Where columns are measurements at uneven steps, a message has ``steps`` as well
and a snap their int32 before the columns.
``epoch`` counts snaps that changed the meaning of a column, so that a late message is
not mixed into newer data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import anywidget
import numpy as np
import traitlets
from numpy.typing import NDArray

from ftlab.views.charts.columns import Columns

HEAL_SECONDS = 5.0
HEAL_BYTES_PER_SECOND = 200_000
"""A snap is sent no oftener than this allows, so that a slow line is not filled."""
Encode = Callable[[NDArray[np.float32]], NDArray[Any]]


class ColumnsWidget(anywidget.AnyWidget):
    """A widget whose front end holds a growing matrix.

    Parameters
    ----------
    columns
        What the view fills.
    encode
        Turns float32 columns into what the front end holds, one row of the result per
        column.
    spec
        What the front end needs to know once.
    rows
        One mapping per named row; the matrix holds them once per statistic.

    Attributes
    ----------
    messages, message_bytes
        How many deltas were sent and their size, for tests and captions.
    """

    name: ClassVar[str] = "columns"
    rows: traitlets.List[Any] = traitlets.List().tag(sync=True)
    spec: traitlets.Dict[Any, Any] = traitlets.Dict().tag(sync=True)
    notes: traitlets.List[Any] = traitlets.List().tag(sync=True)
    snap: traitlets.Bytes[Any, Any] = traitlets.Bytes().tag(sync=True)

    def __init__(
        self,
        columns: Columns,
        encode: Encode,
        spec: dict[str, Any],
        rows: Sequence[dict[str, Any]],
    ) -> None:
        self.columns = columns
        self.messages = 0
        self.message_bytes = 0
        self._encode = encode
        self._epoch = 0
        self._snap_stale = False
        self._snap_due = 0.0
        columns.take_patch()
        super().__init__(spec=spec, rows=list(rows), snap=self._whole())
        self.add_class(f"ftlab-{self.name}")

    def push(self, step: int, column: Any) -> None:
        """Add the values of one step; sends nothing, so any thread may call it."""
        self.columns.put(step, column)

    def replace(
        self, columns: Columns, encode: Encode, rows: Sequence[dict[str, Any]]
    ) -> None:
        """Show other columns from now on, because rows were added."""
        self.columns, self._encode = columns, encode
        columns.take_patch()
        self._epoch += 1
        self._send_whole(rows)

    def say(self, notes: Sequence[str]) -> None:
        """Show these remarks, sent only when they differ from the last ones."""
        if list(notes) != self.notes:
            self.notes = list(notes)

    def flush(self) -> None:
        """Send what was pushed since the last call."""
        patch = self.columns.take_patch()
        if patch is None:
            return
        if patch.whole:
            self._epoch += 1
            self._send_whole()
            return
        block = self._encode(patch.values)
        head: dict[str, Any] = {"t": "columns", "epoch": self._epoch, "at": patch.at}
        head["rows"] = block.shape[1]
        if self.columns.measured:
            new = slice(patch.at, patch.at + len(block))
            head["steps"] = self.columns.first_steps[new].tolist()
        self.send(head, buffers=[block.tobytes()])
        self.messages += 1
        self.message_bytes += block.nbytes
        self._snap_stale = True
        if time.monotonic() >= self._snap_due:
            self._send_whole()

    def settle(self) -> None:
        """Send everything once more, if anything was sent since the last time."""
        if self._snap_stale:
            self._send_whole()

    def _send_whole(self, rows: Sequence[dict[str, Any]] | None = None) -> None:
        with self.hold_sync():
            if rows is not None:
                self.rows = list(rows)
            self.snap = self._whole()
        self._snap_stale = False
        wait = max(HEAL_SECONDS, len(self.snap) / HEAL_BYTES_PER_SECOND)
        self._snap_due = time.monotonic() + wait

    def _whole(self) -> bytes:
        block = self._encode(self.columns.values)
        start, stride = max(self.columns.start, 0), self.columns.stride
        width = block.shape[1] if block.ndim == 2 else 0
        uneven = self.columns.measured
        head = [self._epoch, width, len(block), start, stride, int(uneven), 0, 0]
        head += self.columns.first_steps.tolist() if uneven else []
        return np.array(head, np.int32).tobytes() + block.tobytes()

    def __repr__(self) -> str:
        return f"<ftlab {self.name} widget>"
