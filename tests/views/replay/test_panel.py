import pytest

from ftlab.records.settings import options
from ftlab.views.replay.panel import MOVES
from ftlab.views.replay.replay import Replay
from tests.views.traced import small_trace


@pytest.fixture
def live():
    replay = Replay(small_trace())
    with options.scoped(widgets="anywidget"):
        widget = replay.widget()
    yield replay, widget
    widget.close()


@pytest.fixture
def core():
    replay = Replay(small_trace())
    with options.scoped(widgets="image"):
        box = replay.widget()
    yield replay, box
    box.close_all()


def test_core_widgets_show_what_the_live_panel_shows(live, core):
    above, slider, row, below = core[1].children
    assert above.value == live[1].head + live[1].strip
    assert below.value == live[1].body
    assert [one.description for one in row.children] == list(MOVES)
    assert (slider.value, slider.max) == (live[1].at, live[1].count - 1) == (5, 12)


def test_a_click_and_a_key_move_the_replay(live):
    replay, widget = live
    for content in ({"command": "back op"}, {"at": 9}, {"command": "step module"}):
        widget._handle_custom_msg(content, [])
        assert widget.at == replay.op.index
    assert replay.op.index == 10


def test_a_message_that_means_nothing_is_left_alone(live):
    replay, widget = live
    for content in ("back op", {"at": 99}, {"at": "9"}, {"command": ["abort"]}, {}):
        widget._hear(widget, content, [])
    assert replay.op.index == 5


def test_commands_move_the_panel_that_is_shown(live):
    replay, widget = live
    stamp = widget.stamp
    replay.back()
    assert (widget.at, widget.stamp) == (4, stamp + 1)
    assert "operation 4 of 13" in widget.body


def test_the_strip_is_sent_once(live):
    replay, widget = live
    strip = widget.strip
    replay.step()
    assert widget.strip is strip


def test_slider_and_buttons_of_core_widgets_move_it(core):
    replay, box = core
    _, slider, row, below = box.children
    slider.value = 2
    assert replay.op.index == 2
    assert "operation 2 of 13" in below.value
    for button in row.children:
        button.click()
    assert replay.op.index == slider.value == 5


def test_each_button_has_a_key_of_its_own():
    keys = [move.key for move in MOVES.values()]
    assert len(set(keys)) == len(keys)
