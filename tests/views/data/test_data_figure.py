"""A dataset as a picture."""

from dataclasses import replace

import numpy as np
import pytest

from ftlab.records.data_scan import Lengths
from ftlab.views.data.data_figure import BINS, length_bins
from ftlab.views.data.data_report import DataView
from ftlab.views.view import png
from tests.views.data.scans import HEALTHY, HIDDEN, LENGTHS, SCAN


def lengths(sizes, limit=0):
    known, rows = np.unique(sizes, return_counts=True)
    return Lengths("tokens", known, rows, int(np.sum(sizes)), limit, "max_length")


@pytest.mark.parametrize("limit", [0, 50, 5000])
def test_every_row_is_in_one_bar(limit):
    numbers = np.random.default_rng(0)
    sizes = np.concatenate((numbers.integers(0, 300, 1000), [9000]))
    borders, rows = length_bins(lengths(sizes, limit))
    assert (len(borders), rows.sum()) == (BINS + 1, 1001)
    for at in range(BINS - 1):
        low, high = borders[at], borders[at + 1]
        first = (sizes == 0).sum() if at == 0 else 0
        assert rows[at] == ((sizes > low) & (sizes <= high)).sum() + first


def test_no_rows_make_an_empty_picture():
    assert length_bins(lengths([]))[1].sum() == 0


def test_the_limit_is_drawn_where_it_cuts():
    left, right = DataView(SCAN).figure().axes
    assert [line.get_xdata()[0] for line in left.lines] == [80]
    assert left.texts[0].get_text() == " max_length 80"
    assert left.get_xlabel() == "tokens per row, the last bar includes longer ones"
    assert [text.get_text() for text in right.get_yticklabels()] == [
        "warning  invisible-character",
        "info  duplicate-row",
    ]
    ends = [bar.get_x() + bar.get_width() for bar in right.patches]
    assert ends == pytest.approx([0.04, 0.001], rel=0.01)


def test_a_limit_far_behind_the_rows_is_left_out():
    far = replace(LENGTHS, limit=100_000)
    (axes,) = DataView(replace(HEALTHY, lengths=far)).figure().axes
    assert not axes.lines


def test_many_kinds_are_drawn_up_to_a_number():
    many = tuple(replace(HIDDEN, name=f"kind-{at}") for at in range(20))
    view = DataView(replace(SCAN, issues=many))
    assert view.figure().axes[1].get_title() == "Found, 8 more"
    assert view.size_of(view.summary)[1] > 2.8
    assert png(view.figure()).startswith(b"\x89PNG")
