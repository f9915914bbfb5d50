"""The token view: rows as a model is given them, token by token."""

from typing import Any

from ftlab.records.token_row import TokenBatch
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.tokens.token_figure import SHOWN, draw_tokens
from ftlab.views.tokens.token_grid import tokens_html
from ftlab.views.tokens.token_table import token_table
from ftlab.views.tokens.token_words import batch_words
from ftlab.views.tokens.tokens_summary import TokenSummary, summarise_tokens
from ftlab.views.view import View, widget_mode


class TokenView(View[TokenSummary]):
    """Tokens, attention, labels, turns and special tokens of a batch.

    Labels in the batch stand at the position of their own token; the model shifts them
    by one, so that position ``t`` learns to predict the label at ``t + 1``. The column
    ``learns`` shows what each position is trained to say next.

    Parameters
    ----------
    batch
        Rows, and the vocabulary that they use.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.token_row import Piece, TokenBatch, TokenRow
    >>> from ftlab.views.tokens.tokens import TokenView
    >>> row = TokenRow(np.array([1, 5, 2]), labels=np.array([-100, 5, 2]))
    >>> pieces = {1: Piece("<s>", "<s>"), 5: Piece("Hi", "Hi"), 2: Piece("!", "!")}
    >>> view = TokenView(TokenBatch((row,), pieces))
    >>> view
    Tokens: 1 sample, 3 tokens, 0 padding
    sample 0: 3 tokens, trained on 2
    >>> view.table()["learns"].tolist()
    ['Hi', '!', '']
    """

    title = "Tokens"

    def __init__(self, batch: TokenBatch) -> None:
        super().__init__()
        self._batch = batch

    def _summarise(self) -> TokenSummary:
        return summarise_tokens(self._batch)

    def _table(self, summary: TokenSummary) -> DataFrame:
        return token_table(summary)

    def _make_widget(self) -> Any:
        from ftlab.views.tokens.token_widget import TokenWidget

        return TokenWidget(self.summary)

    def _make_picture(self) -> Any:
        import ipywidgets

        widget = ipywidgets.HTML(tokens_html(self.summary))
        widget.add_class("ftlab-tokens")
        return widget

    def size_of(self, summary: TokenSummary) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, 1.3 + 0.3 * min(len(summary.samples), SHOWN)

    def draw_on(self, figure: Canvas, summary: TokenSummary) -> None:
        """Draw ``summary`` on a figure, or on a part of one."""
        draw_tokens(figure, summary)

    def _text(self, summary: TokenSummary) -> str:
        return batch_words(summary)

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, **_: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if widget_mode() == "static":
            page = tokens_html(self.summary)
            return {"text/plain": repr(self), "text/html": page}, {}
        # a stored notebook keeps the picture: a page of tokens would be ten times it
        return super()._repr_mimebundle_(include, exclude)
