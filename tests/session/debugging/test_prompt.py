"""The prompt in a terminal understands the debugger's commands."""

import io

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError
from ftlab.replay.control import Command
from ftlab.replay.stops.report import PauseReport
from ftlab.session.debugging.pausing_script import PausingScript
from ftlab.session.debugging.prompt import Prompt, decide
from tests.replay.test_update_replay import FINE, HUGE, Steep

SHIFT = 8191


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


def test_help_lists_everything_in_one_line_each():
    _, shown = asked(["help", "resume"])
    rows = [line.split()[0] for line in shown.splitlines() if line.startswith("  ")]
    for name in ("back", "patch", "float32", "replace", "skip", "lr", "scale", "p"):
        assert rows.count(name) == 1
    assert "EOF" not in rows
    assert "another learning rate: lr 1e-5, or lr /10." in shown


def real(lines):
    """Run a step that takes the logarithm of 0, and answer its stops with ``lines``."""
    model, seen = torch.nn.Linear(2, 1), io.StringIO()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    answers = iter(lines)

    def step(batch):
        optimizer.zero_grad()
        factor = batch["factor"]
        loss = (model(batch["x"]) * factor).log().mean()
        loss.backward()
        optimizer.step()

    def answer(report):
        prompt = Prompt(dbg, seen)
        prompt.use_rawinput, prompt.stdin = False, answers_of(answers)
        return prompt.ask(report)

    feed = [{"x": torch.ones(2, 2), "factor": torch.tensor([[0.0], [1.0]])}]
    with torch.no_grad():
        model.weight.fill_(1.0)
    dbg = ftlab.debug(step, feed, model=model, optimizer=optimizer, on_pause=answer)
    with dbg:
        dbg.run()
    return dbg, model, seen.getvalue()


class answers_of:  # noqa: N801  what a prompt reads from
    def __init__(self, lines):
        self._lines = lines

    def readline(self):
        return f"{next(self._lines)}\n"


def test_a_patch_is_tried_and_taken():
    mending = "replace aten.log (x + 1e-3).log()"
    dbg, model, shown = real(["patch x * 2", mending, "resume patched"])
    assert "patch of aten.log.default" in shown
    assert "still non-finite, from aten.log.default" in shown
    assert dbg.state == "finished"
    assert bool(model.weight.isfinite().all())


def test_changes_are_tried_one_after_the_other():
    lines = ["float32", "replace aten.log (x + 1e-3).log()", "skip 0", "skip 1"]
    dbg, _, shown = real([*lines, "abort"])
    trials = [line for line in shown.splitlines() if line.startswith("  trial")]
    assert len(trials) == 4
    assert "in float32: still non-finite" in trials[0]
    assert "1 x aten.log replaced: gone" in trials[1]
    assert "without sample 0: gone" in trials[2]
    assert "without sample 1: still" in trials[3]
    assert dbg.state == "aborted"


def test_an_expression_sees_variables_and_what_the_stop_shows():
    lines = ["p factor.sum()", "p [t.shape for t in inputs]", "p batch.keys()"]
    more = [
        "p max(p.max().item() for p in model.parameters())",
        "p parameters",
        "p torch.pi",
        "p SHIFT",
    ]
    _, _, shown = real([*lines, *more, "locals", "stack", "parameters", "abort"])
    for text in ("tensor(1.)", "[torch.Size([2, 1])]", "dict_keys(", "3.14159", "8191"):
        assert text in shown
    assert "factor = float32[2, 1], 0 to 1" in shown
    assert shown.count("weight = float32[1, 2], 1 to 1") == 2


def test_an_expression_cannot_change_the_step():
    _, model, shown = real(["p factor.fill_(5)", "p factor", "resume"])
    assert "[5.]" in shown
    assert "[0.]" in shown.rpartition("[5.]")[2]
    assert not bool(model.weight.isfinite().all())


def test_mistakes_in_expressions_are_shown_and_it_asks_again():
    lines = ["p", "p 1 +", "p nothing", "p 1 / 0", "patch x +", "replace aten.lgamma x"]
    more = ["lr fast", "lr /10", "scale 0", "scale", "skip", "skip 9", "resume twice"]
    dbg, _, shown = real([*lines, *more, "resume patched", "abort"])
    for text in (
        "'1 +' is not an expression",
        "NameError: name 'nothing' is not defined",
        "ZeroDivisionError: division by zero",
        "'x +' is not an expression",
        "no such operation",
        "pass a rate, such as",
        "before the optimizer step",
        "pass a number above 0",
        "pass the samples' numbers",
        "samples 0 to 1",
        "say `resume` or `resume patched`",
        "nothing was tried at this stop",
    ):
        assert text in shown, text
    assert "BadValueError" not in shown
    assert dbg.state == "aborted"


def test_a_learning_rate_is_tried_in_an_update():
    loop, seen = Steep(), io.StringIO()
    answers = iter(["lr /10", "lr 1e-9", "resume patched"])

    def answer(report):
        prompt = Prompt(dbg, seen)
        prompt.use_rawinput, prompt.stdin = False, answers_of(answers)
        return prompt.ask(report)

    dbg = loop.debug(HUGE, FINE, on_pause=answer)
    with dbg:
        dbg.run()
    assert "lr /10: still non-finite" in seen.getvalue()
    assert "lr 1e-9: gone" in seen.getvalue()
    assert bool(loop.model.weight.isfinite().all())


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
