"""The prompt in a terminal understands the debugger's commands."""

import io

import pytest
import torch

from ftlab.records.errors import BadValueError
from ftlab.replay.control import Command
from ftlab.replay.stops.report import PauseReport
from ftlab.session.debugging.pausing_script import PausingScript
from ftlab.session.debugging.prompt import Prompt, decide


class Paused:
    """What a prompt asks of a debugger."""

    def __init__(self, *, replayable=True):
        self.where = PauseReport("paused", "step", 4, replayable=replayable)
        self.tensor = torch.tensor([1.5])
        self.inputs = (torch.tensor([2.5]), torch.tensor([3.5]))
        self.batch = {"ids": torch.tensor([7])}


def asked(lines, **options):
    debugger, stream = Paused(**options), io.StringIO()
    prompt = Prompt(debugger, stream)
    prompt.use_rawinput = False
    prompt.stdin = io.StringIO("\n".join(lines) + "\n")
    command = prompt.ask(debugger.where)
    return command, stream.getvalue()


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("step", Command("step")),
        ("step 3", Command("step", "op", 3)),
        ("step module", Command("step", "module")),
        ("back module 2", Command("back", "module", 2)),
        ("back", Command("back")),
        ("resume", Command("resume")),
        ("abort", Command("abort")),
        ("quit", Command("abort")),
    ],
)
def test_commands_are_those_of_the_debugger(line, command):
    assert asked([line])[0] == command


def test_values_are_shown_and_the_prompt_asks_again():
    command, shown = asked(["where", "tensor", "inputs", "batch", "resume"])
    assert command == Command("resume")
    assert shown.count("Paused at step 4") == 2
    assert all(value in shown for value in ("1.5", "2.5", "3.5", "'ids'"))


def test_mistakes_are_explained_and_the_prompt_asks_again():
    command, shown = asked(["sleep", "", "step 0", "help step", "resume"])
    assert command == Command("resume")
    assert "'sleep' is no command; there are abort, back," in shown
    assert "pass a number from 1" in shown
    assert "Go on and stop again: step [op|module|PATTERN]" in shown


def test_back_is_refused_where_there_is_no_way_back():
    command, shown = asked(["back", "resume"], replayable=False)
    assert command == Command("resume")
    assert "this stop cannot be rewound" in shown


def test_the_end_of_input_aborts():
    assert asked(["where"])[0] == Command("abort")


def test_without_a_terminal_the_report_is_printed(capsys):
    assert decide(PauseReport("paused", "step", 4), "resume") == Command("resume")
    assert "ftlab: Paused at step 4" in capsys.readouterr().err


def test_other_answers_and_several_processes_are_refused(monkeypatch):
    with pytest.raises(BadValueError, match="--on-anomaly skip: pass abort or resume"):
        PausingScript("skip")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(BadValueError, match="--pause stops one process"):
        PausingScript()
