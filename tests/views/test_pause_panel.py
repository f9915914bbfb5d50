import threading
import warnings

import pytest

from ftlab.records.errors import FtlabWarning
from ftlab.records.settings import options
from ftlab.replay.stops.report import PauseReport
from ftlab.views.pause_panel import COMMANDS, PausePanel
from tests.views.panel_stop import Controller


@pytest.fixture
def shown():
    """The panel of core widgets."""
    controller = Controller()
    with options.scoped(widgets="image"):
        panel = PausePanel(controller)
        box = panel.widget()
    buttons = {button.description: button for button in box.children[1].children}
    yield controller, panel, box, buttons
    box.close_all()


@pytest.fixture
def live():
    controller = Controller()
    with options.scoped(widgets="anywidget"):
        panel = PausePanel(controller)
        widget = panel.widget()
    yield controller, panel, widget
    widget.close()


def is_on(widget):
    return {one["command"]: one["on"] for one in widget.buttons}


def test_core_widgets_show_all_that_the_live_panel_shows(shown, live):
    above, _, below = shown[2].children
    assert (above.value, below.value) == (live[2].head, live[2].body)
    assert shown[1].html() == above.value + below.value
    assert list(shown[3]) == list(is_on(live[2])) == list(COMMANDS)


def test_a_click_sends_its_command_and_waits_for_nothing(shown):
    controller, _, _, buttons = shown
    for button in buttons.values():
        button.click()
    assert controller.sent == list(COMMANDS)


def test_a_message_of_the_front_end_sends_its_command(live):
    controller, _, widget = live
    for content in ({"command": "back op"}, {"command": "rm"}, {"command": ["abort"]}):
        widget._handle_custom_msg(content, [])
    widget._handle_custom_msg("abort", [])
    assert controller.sent == ["back op"]


def test_browser_tests_find_the_panel_and_its_buttons(shown, live):
    _, _, box, buttons = shown
    assert "ftlab-panel" in box._dom_classes
    assert "ftlab-panel" in live[2]._dom_classes
    assert "ftlab-step-module" in buttons["step module"]._dom_classes


def test_buttons_work_only_while_paused(shown, live):
    controller, _, box, buttons = shown
    assert not any(button.disabled for button in buttons.values())
    controller.becomes("running")
    assert all(button.disabled for button in buttons.values())
    assert "Training runs." in box.children[0].value
    assert all(is_on(live[2]).values())
    live[0].becomes("running")
    assert not any(is_on(live[2]).values())
    assert live[2].body == ""


def test_pages_are_told_of_every_change_once(live):
    controller, _, widget = live
    stamps = []
    widget.observe(lambda change: stamps.append(change.new), "stamp")
    first = widget.stamp
    controller.becomes("running")
    controller.becomes("paused")
    assert stamps == [first + 1, first + 2]


def test_moving_is_off_where_the_step_cannot_be_repeated():
    where = PauseReport("paused", "anomaly", what="nan", replayable=False)
    panel = PausePanel(Controller(where=where))
    widget = panel.widget()
    on = [name for name, allowed in is_on(widget).items() if allowed]
    assert on == ["resume", "abort"]
    widget.close()


def test_a_refused_command_is_shown_not_raised(live):
    controller, _, widget = live
    controller.state = "finished"
    controller.where = PauseReport("finished", step=20)
    widget._handle_custom_msg({"command": "resume"}, [])
    assert "Training is not paused." in widget.head


def test_a_broken_controller_is_a_warning_in_its_thread(live):
    controller = live[0]
    controller.where = None
    with pytest.warns(FtlabWarning, match="pause panel could not be updated"):
        controller.becomes("paused")


def test_the_last_state_wins_when_two_threads_show_it(live):
    controller, panel, widget = live
    reading, go_on = threading.Event(), threading.Event()

    class Slow(type(controller)):
        @property
        def batch_text(self):
            if threading.current_thread() is not threading.main_thread():
                reading.set()
                go_on.wait(10)
            return ()

    controller.__class__ = Slow
    late = threading.Thread(target=panel.refresh)
    late.start()
    reading.wait(10)
    controller.state = "running"
    threading.Timer(0.1, go_on.set).start()
    panel.refresh()
    late.join()
    assert "Training runs." in widget.head


def test_a_closed_panel_listens_no_longer(live):
    controller, panel, widget = live
    panel.close()
    panel.close()
    controller.state = "running"
    assert controller.listeners == []
    assert "Paused" in widget.head


def test_before_the_start_it_says_how_to_begin():
    panel = PausePanel(Controller("new"))
    widget = panel.widget()
    assert "run() starts the training" in widget.head
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panel.refresh()
    widget.close()


def test_the_text_form_never_changes(live):
    data, _ = live[1]._repr_mimebundle_()
    assert data["text/plain"] == repr(live[1]) == "ftlab debugger panel"
    assert "application/vnd.jupyter.widget-view+json" in data


def test_without_widgets_the_text_is_shown_as_html():
    with options.scoped(widgets="static"):
        data, _ = PausePanel(Controller())._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html"}
    assert "Paused at step 12" in data["text/html"]


def test_no_two_buttons_share_a_key():
    keys = [one.key for one in COMMANDS.values()]
    assert len(set(keys)) == len(keys)
