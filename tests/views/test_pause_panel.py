import warnings

import pytest

from ftlab.records.errors import FtlabWarning, NotPausedError
from ftlab.records.handle import CallbackHandle
from ftlab.replay.report import PauseReport, TensorFacts
from ftlab.views.pause_panel import PausePanel

REPORT = PauseReport(
    "paused",
    "anomaly",
    step=12,
    what="nan",
    kind="parameter",
    name="<script>w</script>",
    inputs=(TensorFacts("self", "float32", (4, 8), -1.0, 2.0),),
    cause="The weight held a <b>NaN</b> before the step.",
)


class Controller:
    """A debugger that only remembers what it was sent."""

    def __init__(self, state="paused", where=REPORT):
        self.state, self.where, self.sent, self.listeners = state, where, [], []

    def send(self, command):
        if self.state != "paused":
            msg = "Training is not paused."
            raise NotPausedError(msg)
        self.sent.append(command)

    def subscribe(self, listener):
        self.listeners.append(listener)
        return CallbackHandle(lambda: self.listeners.remove(listener))

    def becomes(self, state):
        self.state = state
        for listener in self.listeners:
            listener()


@pytest.fixture
def shown():
    controller = Controller()
    panel = PausePanel(controller)
    box = panel.widget()
    buttons = {button.description: button for button in box.children[1].children}
    yield controller, panel, box, buttons
    box.close_all()


def test_shows_what_why_and_the_tensors_escaped(shown):
    text = shown[2].children[0].value
    assert "Paused at step 12" in text
    assert "The weight held a &lt;b&gt;NaN&lt;/b&gt; before the step." in text
    assert "float32[4, 8], -1 to 2" in text
    assert "&lt;script&gt;" in text
    assert "<script>" not in text


def test_a_click_sends_its_command_and_waits_for_nothing(shown):
    controller, _, _, buttons = shown
    for name in ("back", "step", "resume", "abort"):
        buttons[name].click()
    assert controller.sent == ["back", "step", "resume", "abort"]


def test_browser_tests_find_the_panel_and_its_buttons(shown):
    _, _, box, buttons = shown
    assert "ftlab-panel" in box._dom_classes
    assert "ftlab-resume" in buttons["resume"]._dom_classes


def test_buttons_work_only_while_paused(shown):
    controller, _, box, buttons = shown
    assert not any(button.disabled for button in buttons.values())
    controller.becomes("running")
    assert all(button.disabled for button in buttons.values())
    assert "Training runs." in box.children[0].value


def test_moving_is_off_where_the_step_cannot_be_repeated():
    where = PauseReport("paused", "anomaly", what="nan", replayable=False)
    panel = PausePanel(Controller(where=where))
    box = panel.widget()
    off = {one.description: one.disabled for one in box.children[1].children}
    assert off == {"back": True, "step": True, "resume": False, "abort": False}
    box.close_all()


def test_a_refused_command_is_shown_not_raised(shown):
    controller, _, box, buttons = shown
    controller.state = "finished"
    controller.where = PauseReport("finished", step=20)
    buttons["resume"].click()
    assert "Training is not paused." in box.children[0].value


def test_a_broken_controller_is_a_warning_in_its_thread(shown):
    controller = shown[0]
    controller.where = None
    with pytest.warns(FtlabWarning, match="pause panel could not be updated"):
        controller.becomes("paused")


def test_a_closed_panel_listens_no_longer(shown):
    controller, panel, box, _ = shown
    panel.close()
    panel.close()
    controller.state = "running"
    assert controller.listeners == []
    assert "Paused" in box.children[0].value


def test_before_the_start_it_says_how_to_begin():
    panel = PausePanel(Controller("new"))
    box = panel.widget()
    assert "run() starts the training" in box.children[0].value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panel.refresh()
    box.close_all()


def test_the_text_form_never_changes(shown):
    data, _ = shown[1]._repr_mimebundle_()
    assert data["text/plain"] == repr(shown[1]) == "ftlab debugger panel"
    assert "application/vnd.jupyter.widget-view+json" in data
