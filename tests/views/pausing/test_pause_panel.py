import threading
import warnings
from dataclasses import replace

import pytest

from ftlab.records.errors import FtlabWarning
from ftlab.records.settings import options
from ftlab.replay.stops.report import PauseReport, TensorFacts
from ftlab.replay.stops.spans import TokenSpan
from ftlab.views.pausing.panel_buttons import COMMANDS
from ftlab.views.pausing.pause_panel import PausePanel
from tests.views.panel_stop import REPORT, Controller


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


TRIED = ("in float32", "skip sample", "resume as tried")
ALWAYS = [name for name in COMMANDS if name not in TRIED]


def is_there(widget):
    return [one["command"] for one in widget.buttons if not one["hidden"]]


def is_on(widget):
    return {one["command"]: one["on"] for one in widget.buttons}


def test_core_widgets_show_all_that_the_live_panel_shows(shown, live):
    above, _, below = shown[2].children
    assert (above.value, below.value) == (live[2].head, live[2].body)
    assert shown[1].html() == above.value + below.value
    assert list(shown[3]) == list(is_on(live[2])) == list(COMMANDS)


def test_a_click_sends_its_command_and_waits_for_nothing(shown):
    controller, _, _, buttons = shown
    for name in ALWAYS:
        buttons[name].click()
    assert controller.sent == ALWAYS


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
    assert not any(buttons[name].disabled for name in ALWAYS)
    controller.becomes("running")
    assert all(button.disabled for button in buttons.values())
    assert "Training runs." in box.children[0].value
    assert all(is_on(live[2])[name] for name in ALWAYS)
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


HALF = TensorFacts("", "float16", (4, 8), -1.0, 2.0, infs=3)


def live_at(**changes):
    controller = Controller(where=replace(REPORT, **changes))
    with options.scoped(widgets="anywidget"):
        return controller, PausePanel(controller).widget()


@pytest.mark.parametrize(
    ("changes", "there"),
    [
        ({}, []),
        ({"outputs": (HALF,)}, ["in float32"]),
        ({"spans": (TokenSpan(2, 0, 1), TokenSpan(2, 3, 4))}, ["skip sample"]),
        ({"spans": (TokenSpan(2), TokenSpan(3))}, []),
        ({"spans": tuple(TokenSpan(2, i, i + 1) for i in (0, 2, 4))}, []),
        ({"trial": "aten.log in float32: gone: loss 2"}, ["resume as tried"]),
        ({"trial": "aten.log in float32: still non-finite"}, []),
    ],
)
def test_a_remedy_has_a_button_where_it_may_help(changes, there):
    _, widget = live_at(**changes)
    assert is_there(widget) == [n for n in COMMANDS if n in ALWAYS or n in there]
    widget.close()


def test_a_batch_of_one_sample_cannot_do_without_it():
    one = TensorFacts("", "float32", (1, 8), -1.0, 2.0, nans=3)
    _, widget = live_at(outputs=(one,), spans=(TokenSpan(0, 2, 3),))
    assert "skip sample" not in is_there(widget)
    widget.close()


def test_remedies_are_asked_for_with_what_the_stop_says():
    spans = (TokenSpan(2, 0, 1),)
    where = replace(REPORT, outputs=(HALF,), spans=spans, trial="x: gone")
    controller = Controller(where=where)
    with options.scoped(widgets="image"):
        box = PausePanel(controller).widget()
    by_name = dict(zip(COMMANDS, box.children[1].children, strict=True))
    asked = [by_name[name] for name in TRIED]
    for button in asked:
        button.click()
    labels = [button.description for button in asked]
    assert labels == ["try in float32", "try without sample 2", "resume as tried"]
    commands = ["try in float32", "try without (2,)", "resume with_patch=True"]
    assert controller.sent == commands
    assert [button.layout.display for button in asked] == [None] * 3
    box.close_all()


def test_resume_is_green_where_the_step_is_in_order_or_was_mended():
    _, broken = live_at(trial="x: gone")
    kinds = {one["command"]: one["kind"] for one in broken.buttons}
    assert (kinds["resume"], kinds["resume as tried"]) == ("plain", "success")
    _, sound = live_at(what="", reason="interrupt")
    kinds = {one["command"]: one["kind"] for one in sound.buttons}
    assert kinds["resume"] == "success"
    for widget in (broken, sound):
        widget.close()


def test_buttons_stay_where_they_are_while_a_trial_runs():
    controller, widget = live_at(outputs=(HALF,))
    before = is_there(widget)
    controller.becomes("running")
    assert is_there(widget) == before
    assert not any(is_on(widget).values())
    controller.becomes("aborted")
    assert is_there(widget) == ALWAYS
    widget.close()


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
    keys = [one.key for one in COMMANDS.values() if one.key]
    assert len(set(keys)) == len(keys)
