"""The token view: a batch as the collator delivers it, token by token."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from ftlab.views.style import count
from ftlab.views.token_grid import draw_tokens, tokens_html
from ftlab.views.tokens_summary import Sample, TokenSummary, summarise_batch
from ftlab.views.view import View

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

TEXT_SAMPLES = 8


class TokenView(View[TokenSummary]):
    """Tokens, attention, labels and BOS / EOS / PAD of a batch.

    Labels in the batch stand at the position of their own token; the model shifts them
    by one, so that position ``t`` learns to predict the label at ``t + 1``. The column
    ``learns`` shows what each position is trained to say next.

    Parameters
    ----------
    batch
        What the data loader yields: ``input_ids`` and, where there are,
        ``attention_mask``, ``labels`` and ``position_ids``. Tensors, arrays or lists.
    tokenizer
        Gives pieces and special tokens; a processor that holds a tokenizer will do.

    Examples
    --------
    >>> from ftlab.views.tokens import TokenView
    >>> TokenView({"input_ids": [[1, 5, 2]], "labels": [[-100, 5, 2]]})
    Tokens: 1 sample, 3 tokens, 0 padding
    sample 0: 3 tokens, trained on 2, attention_mask not in the batch
    >>> TokenView({})
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: The batch has no input_ids; it holds nothing. \
Pass what the data loader yields: ftlab.tokens(batch=next(iter(loader))).
    """

    title = "Tokens"

    def __init__(self, batch: Mapping[str, Any], tokenizer: Any = None) -> None:
        super().__init__()
        self._made = summarise_batch(batch, tokenizer)

    def _stamp(self) -> Hashable:
        return 0

    def _summarise(self) -> TokenSummary:
        return self._made

    def _table(self, summary: TokenSummary) -> pd.DataFrame:
        import pandas as pd

        data: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        for number, sample in enumerate(summary.samples):
            for at, cell in enumerate(sample.cells):
                said = cell.token, cell.id, cell.text, cell.attention
                trained = cell.label, cell.trained, cell.learns
                row = (number, at, *said, *trained, *_flags(cell.special))
                for name, value in zip(COLUMNS, row, strict=True):
                    data[name].append(value)
        table = pd.DataFrame(data)
        for name in ("attention", "label"):
            table[name] = table[name].astype("Int64")
        return table

    def _make_widget(self) -> Any:
        import ipywidgets

        widget = ipywidgets.HTML(tokens_html(self._made))
        widget.add_class("ftlab-tokens")
        return widget

    def size_of(self, summary: TokenSummary) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, 1.3 + 0.3 * min(len(summary.samples), 16)

    def draw_on(self, figure: Figure | SubFigure, summary: TokenSummary) -> None:
        """Draw ``summary`` on a figure, or on a part of one."""
        draw_tokens(figure, summary)

    def _text(self, summary: TokenSummary) -> str:
        total = sum(len(sample.cells) for sample in summary.samples)
        padding = sum(sample.padding for sample in summary.samples)
        samples = count(len(summary.samples), "sample")
        lines = [f"Tokens: {samples}, {count(total, 'token')}, {padding:,} padding"]
        for number, sample in list(enumerate(summary.samples))[:TEXT_SAMPLES]:
            lines.append(f"sample {number}: {describe(sample)}")
        hidden = len(summary.samples) - TEXT_SAMPLES
        if hidden > 0:
            lines.append(f"... and {count(hidden, 'more sample')} in .table()")
        return "\n".join(lines)


COLUMNS = (
    "sample",
    "position",
    "token",
    "id",
    "text",
    "attention",
    "label",
    "trained",
    "learns",
    "bos",
    "eos",
    "pad",
)


def describe(sample: Sample) -> str:
    """Say a sample's length, padding, trained part and special tokens in one line."""
    words = [count(len(sample.cells) - sample.padding, "token")]
    if sample.padding:
        words.append(f"{sample.padding:,} padding {sample.padding_side}")
    words.append(_trained(sample))
    for name in ("bos", "eos"):
        at = sample.positions(name)
        if at is None:
            continue
        shown = ", ".join(map(str, at[:4])) + (", ..." if len(at) > 4 else "")
        words.append(f"{name.upper()} at {shown}" if at else f"no {name.upper()}")
    if sample.eos_trained is not None:
        words.append("EOS is trained" if sample.eos_trained else "EOS is not trained")
    if sample.segments > 1:
        words.append(f"{sample.segments} sequences packed")
    words += sample.remarks
    return ", ".join(words)


def _trained(sample: Sample) -> str:
    if sample.trained is None:
        return "no labels per token"
    return f"trained on {sample.trained:,}"


def _flags(special: tuple[str, ...]) -> tuple[bool, bool, bool]:
    return "bos" in special, "eos" in special, "pad" in special
