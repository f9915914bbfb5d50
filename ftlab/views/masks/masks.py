"""The mask view: who attends to whom, in cells, and what of it is illegal."""

from typing import Any

from ftlab.records.attention import FAULTS, AttentionReport, MaskRow
from ftlab.views.drawn import Canvas
from ftlab.views.masks.mask_figure import draw_masks
from ftlab.views.masks.mask_widget import Closer
from ftlab.views.masks.mask_words import MEANING, percent, report_text
from ftlab.views.view import Rows, View

COLUMNS = (
    "row",
    "kind",
    "layers",
    "documents",
    "told_by",
    "padding",
    "pairs",
    "illegal",
    *(name for fault in FAULTS for name in (MEANING[fault], f"{fault} tokens")),
    "fault",
    "query",
    "key",
    "worst",
    "exact",
)


class MaskView(View["AttentionReport"]):
    """Who attends to whom in a batch, and who must not.

    Parameters
    ----------
    report
        What was measured.
    closer
        Gives the grid of a part of a mask: of a row, a kind and the part.

    Examples
    --------
    >>> import ftlab, torch
    >>> from ftlab.faults.builders.tiny import llama
    >>> batch = {"input_ids": torch.tensor([[5, 6, 7, 8, 9]])}
    >>> ftlab.masks(llama(), batch)  # doctest: +ELLIPSIS
    Attention of LlamaForCausalLM (sdpa): 1 row of 5 x 5
      full (...): causal; read from the mask function that the model asks ... for
      row 0: 1 document
        full: nothing illegal
      padding, this batch: 0 % of 5 tokens, 1 times the attention that ... need
      padding, no padding: 0 % of 5 tokens, 1 times the attention that ... need
    """

    title = "Attention"
    headings = COLUMNS

    def __init__(self, report: AttentionReport, closer: Closer | None = None) -> None:
        super().__init__(report)
        self._report = report
        self._closer = closer

    def headline(self) -> str:
        """Return the largest share of illegal attention in one line."""
        illegal = max((row.illegal for row in self._report.rows), default=0.0)
        return f"{percent(illegal)} of attention illegal"

    def _table(self, summary: AttentionReport) -> Rows:
        return [_line(summary, row) for row in summary.rows]

    def size_of(self, summary: AttentionReport) -> tuple[float, float]:
        """Return width and height in inches, by how many panels there are."""
        panels = len({row.kind for row in summary.rows}) or 1
        return (9.0, 4.6 if panels < 3 else 3.4)

    def draw_on(self, figure: Canvas, summary: AttentionReport) -> None:
        """Draw the worst row, one panel for each kind of layer."""
        draw_masks(figure, summary)

    def _text(self, summary: AttentionReport) -> str:
        return report_text(summary)

    def _make_widget(self) -> Any:
        from ftlab.views.masks.mask_widget import MaskWidget

        return MaskWidget(self._report, self._closer)


def _line(report: AttentionReport, row: MaskRow) -> tuple[Any, ...]:
    documents = report.documents[row.row]
    kind = next(each for each in report.kinds if each.name == row.kind)
    certain = [f for f in FAULTS if row.sure or f != "other sample"]
    first = next((fault for fault in certain if fault in row.first), None)
    pair = row.first[first] if first else None
    shares = [
        value
        for fault in FAULTS
        for value in (row.share(fault), row.queries.get(fault, 0))
    ]
    return (
        row.row,
        row.kind,
        len(kind.layers),
        documents.count,
        documents.told_by + ("" if documents.sure else " (may be)"),
        int((documents.numbers == -1).sum()),
        row.pairs,
        row.illegal,
        *shares,
        MEANING[first] if first else "",
        -1 if pair is None else pair.query,
        -1 if pair is None else pair.key,
        max(row.worst.values(), default=0.0),
        row.exact,
    )
