import math
import warnings

import numpy as np
import pytest

from ftlab.records.errors import FtlabWarning
from ftlab.records.settings import options
from ftlab.records.step import Block, StepRecord
from ftlab.views.dashboard.dashboard import Dashboard
from tests.views.sample import add_measured, add_step, named


@pytest.fixture
def board():
    run = named(2, 1)
    add_step(run, 0, [1.0, 1.0], loss=2.0)
    made = Dashboard(run)
    made.run = run
    yield made
    if made._box is not None:
        made._box.close_all()


def titles(board):
    return [fold.titles[0] for fold in board.details.widget().children]


def clip(run, step):
    run.append(StepRecord(step, 0.0, 1.0, (), 2.0, 1.0, 0.5))


def test_a_view_with_nothing_to_show_has_no_line(board):
    assert titles(board) == []
    assert board.details.lines() == {}


def test_a_line_comes_with_the_first_step_that_has_something_to_show(board):
    board.widget()
    clip(board.run, 1)
    board.refresh()
    (title,) = titles(board)
    assert title.startswith("Clipping  ·  active in 1 of 1 step (100 %)")


def test_lines_keep_their_order_whenever_they_come(board):
    board.widget()
    add_measured(board.run, 1, update_l2=1e-3, weight_l2=1.0)
    board.refresh()
    fold = board.details.widget().children[0]
    clip(board.run, 2)
    board.refresh()
    assert [title.split("  ·  ")[0] for title in titles(board)] == [
        "Clipping",
        "Updates",
    ]
    assert board.details.widget().children[1] is fold


def test_views_are_folded_until_somebody_opens_them(board):
    clip(board.run, 1)
    (fold,) = board.details.widget().children
    assert fold.selected_index is None


def test_a_refresh_says_the_newest_and_sends_only_new_columns(board):
    clip(board.run, 1)
    board.widget()
    widget = board.clipping.widget()
    widget._snap_due = math.inf
    clip(board.run, 2)
    board.refresh()
    board.refresh()
    rows = len(board.clipping.summary.plan.rows)
    assert (widget.messages, widget.message_bytes) == (1, 4 * rows)
    assert "2 of 2 steps" in titles(board)[0]


def test_a_view_that_nobody_sees_makes_no_widget(board):
    clip(board.run, 1)
    board.widget()
    assert board.scaler._widget is None


def test_a_failing_view_is_one_warning_and_loses_its_line(board, monkeypatch):
    clip(board.run, 1)
    board.widget()

    def broken():
        msg = "no such column"
        raise KeyError(msg)

    monkeypatch.setattr(board.clipping, "headline", broken)
    with pytest.warns(FtlabWarning, match="'clipping' failed.*no such column"):
        board.refresh()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        board.refresh()
    assert titles(board) == []


def test_the_picture_has_a_line_for_each(board):
    before = len(board.figure().subfigs)
    clip(board.run, 1)
    figure = board.figure()
    assert len(figure.subfigs) == before + 1
    words = [text.get_text() for part in figure.subfigs for text in part.texts]
    assert any(word.startswith("Clipping: active in 1 of 1 step") for word in words)


def test_another_run_has_lines_of_its_own(board):
    clip(board.run, 1)
    board.widget()
    other = named(1, 1)
    one = np.ones(1, np.float32)
    other.append(Block("tensors", 0, np.zeros(1, np.int32), {"moment1_l2": one}))
    other.append(StepRecord(0, 0.0))
    board.show(other)
    assert titles(board) == ["Optimizer moments  ·  first moment 1"]


def test_image_mode_shows_pictures(board):
    clip(board.run, 1)
    with options.scoped(widgets="image"):
        board.widget()
        (fold,) = board.details.widget().children
    assert bytes(fold.children[0].value).startswith(b"\x89PNG")
