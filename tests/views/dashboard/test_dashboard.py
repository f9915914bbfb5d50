import warnings

import numpy as np
import pytest

from ftlab.records.errors import FtlabWarning
from ftlab.records.settings import options
from ftlab.runlog.run import Run
from ftlab.views.dashboard.dashboard import Dashboard
from tests.views.sample import add_step, named


@pytest.fixture
def board():
    run = named(2, 2)
    add_step(run, 0, [1.0, 1.0, 1.0, 1.0], loss=2.0)
    made = Dashboard(run, state=lambda: "training")
    made.run = run
    yield made
    if made._box is not None:
        made._box.close_all()


def test_the_text_never_changes(board):
    before = board.snapshot_bundle()[0]["text/plain"]
    add_step(board.run, 1, [1.0, 1.0, 1.0, 1.0], loss=1.0)
    assert board.snapshot_bundle()[0]["text/plain"] == before == repr(board)


def test_the_bundle_has_the_last_picture_and_the_same_widget(board):
    first, _ = board.snapshot_bundle()
    add_step(board.run, 1, [np.nan, 1.0, 1.0, 1.0], loss=1.0)
    second, _ = board.snapshot_bundle()
    columns = np.frombuffer(board.gradients.widget().snap[:32], np.int32)[2]
    assert columns == 2
    key = "application/vnd.jupyter.widget-view+json"
    assert first[key] == second[key]
    assert first["image/png"] != second["image/png"]


def test_findings_come_first_under_the_head_line(board):
    head, findings, heat, *_ = board.widget().children
    assert "training  ·  step 0" in head.value
    assert "ftlab-findings" in findings._dom_classes
    assert "ftlab-heat" in heat._dom_classes


def test_a_refresh_sends_only_new_columns(board):
    board.widget()
    heat = board.gradients.widget()
    heat._snap_due = float("inf")
    add_step(board.run, 1, [1.0, 1.0, 1.0, 1.0], loss=1.0)
    board.refresh()
    board.refresh()
    assert (heat.messages, heat.message_bytes) == (1, 2 * 12)
    assert "step 1" in board.widget().children[0].value


def test_refreshing_before_anything_is_on_screen_costs_nothing(board):
    board.refresh()
    assert board._box is None


def test_a_failing_part_is_one_warning_and_the_others_go_on(board, monkeypatch):
    board.widget()

    def broken():
        msg = "no such column"
        raise KeyError(msg)

    monkeypatch.setattr(board.gradients, "refresh", broken)
    with pytest.warns(FtlabWarning, match="'gradients' failed.*no such column"):
        board.refresh()
    add_step(board.run, 1, [1.0, 1.0, 1.0, 1.0], loss=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        board.refresh()
    assert "step 1" in board.widget().children[0].value
    assert set(board.parts) == {"findings", "loss", "lora"}
    assert len(board.figure().subfigs) == 4


def test_another_run_takes_the_place_of_the_first(board):
    box = board.widget()
    heat = board.gradients.widget()
    other = named(4, 1)
    for step in range(4):
        add_step(other, step, [1.0, 2.0, 3.0, 4.0], loss=1.0)
    board.show(other)
    assert board.widget() is box
    assert len(heat.rows) == 8
    assert "step 3" in box.children[0].value
    assert len(board.memory.table()) == 4


@pytest.mark.parametrize("name", ["memory", "time"])
def test_views_shown_by_themselves_follow_the_run(board, name):
    widget = getattr(board, name).widget()
    for step in (1, 2):
        add_step(board.run, step, [1.0, 1.0, 1.0, 1.0], loss=1.0)
    board.settle()
    assert np.frombuffer(widget.snap[:32], np.int32)[2] == 3


def test_an_empty_run_is_shown():
    board = Dashboard(Run())
    data, _ = board._repr_mimebundle_()
    assert "image/png" in data
    board.widget().close_all()


def test_static_mode_makes_no_widget(board):
    with options.scoped(widgets="static"):
        data, _ = board.snapshot_bundle()
    assert set(data) == {"text/plain", "image/png"}
    assert board._box is None
