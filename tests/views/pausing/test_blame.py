"""The blame of a step as a table, a figure and a text."""

import numpy as np

from ftlab.records.blame import Blame, SampleBlame
from ftlab.views.pausing.blame import BlameView


def view(count: int = 7, **changes: object) -> BlameView:
    losses = np.full((count, 3), 1.0)
    losses[:, 0] = np.nan
    targets = np.full((count, 3), 5)
    targets[:, 0] = -1
    samples = tuple(
        SampleBlame(i, 1.0, 2, 0.5, 1, 3, 1.0, "a\x1b[2J") for i in range(count)
    )
    facts = {"gradient": 1.5, "shared": 0.0, "notes": ()} | changes
    blame = Blame(4, 1, losses, targets, np.full(count, 0.5), samples=samples, **facts)
    return BlameView(blame)


def test_the_text_holds_the_worst_and_says_how_many_more() -> None:
    lines = repr(view()).splitlines()
    assert lines[0] == (
        "Step 4, micro-batch 1: 7 samples, 14 tokens with a loss, mean 1; gradient 1.5"
    )
    assert len(lines) == 7
    assert lines[-1] == "  2 more in .losses and .gradients"
    assert "\x1b" not in repr(view())


def test_the_text_says_what_is_not_known() -> None:
    shown = repr(view(1, gradient=np.nan, shared=0.25, notes=("Left out.",)))
    assert shown.splitlines()[0].endswith("mean 1")
    assert "0.25 of the gradient belongs to no token" in shown
    assert shown.endswith("note: Left out.")


def test_the_table_has_a_row_for_each_sample() -> None:
    table = view().table()
    assert list(table.columns) == [
        "sample",
        "loss",
        "tokens",
        "gradient",
        "start",
        "stop",
        "span_loss",
        "text",
    ]
    assert len(table) == 7


def test_the_figure_shows_losses_and_gradients_side_by_side() -> None:
    left, right, _ = view().figure().axes
    assert left.images[0].get_array().shape == (7, 3)
    assert [bar.get_width() for bar in right.patches] == [0.5] * 7
