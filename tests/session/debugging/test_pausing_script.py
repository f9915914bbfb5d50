"""Unedited scripts under ``ftlab run --pause``, as subprocesses."""

import os
import pty
import sys
import time

import pytest

from tests.session.test_script import environment, ftlab, python

LOOP = """
import sys, torch
torch.set_num_threads(1)
torch.manual_seed(0)

def main(n):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    total = 0.0
    for i in range(n):
        x = torch.rand(3, 4)
        if i == 2: x[0] = 3000
        optimizer.zero_grad()
        loss = model(x).add(1).log().mean()
        loss.backward()
        total += loss.item()
        optimizer.step()
        print(i, loss.item())
    print(total, [p.sum().item() for p in model.parameters()], torch.rand(1).item())

if __name__ == "__main__":
    main(int(sys.argv[1]))
    sys.exit(5)
"""
TRAINER = """
import torch
from transformers import Trainer, TrainingArguments
from tests.models import Rows, tiny_lora

torch.set_num_threads(1)
arguments = TrainingArguments(
    "out", max_steps=2, report_to=[], disable_tqdm=True, use_cpu=True,
    save_strategy="no",
)
trainer = Trainer(model=tiny_lora(), args=arguments, train_dataset=Rows(16))
lora = next(p for n, p in trainer.model.named_parameters() if "lora_A" in n)
lora.data[0, 0] = float("nan")
trainer.train()
print("end")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(LOOP)
    (tmp_path / "trainer.py").write_text(TRAINER)
    return tmp_path


def test_without_a_terminal_it_reports_and_ends_with_3(folder):
    done = ftlab(folder, "run", "--pause", "train.py", "4")
    assert done.returncode == 3, done.stderr
    assert [line[:2] for line in done.stdout.splitlines()] == ["0 ", "1 "]
    assert "Paused at step 2, micro-batch 0, before the weights change" in done.stderr
    assert "train.py:14 main" in done.stderr
    assert "ftlab: 2 steps" in done.stderr
    assert "the script was aborted at this stop" in done.stderr


@pytest.mark.parametrize(
    "how", [("train.py",), pytest.param(("-m", "train"), marks=pytest.mark.slow)]
)
def test_resumed_it_prints_what_it_prints_without_ftlab(folder, how):
    plain = python(folder, "train.py", "4")
    arguments = ("run", "--pause", "--on-anomaly", "resume", *how, "4")
    done = ftlab(folder, *arguments)
    assert done.stdout == plain.stdout
    assert done.returncode == plain.returncode == 5
    assert "Paused at step 2" in done.stderr


@pytest.mark.slow
def test_a_trainer_in_a_script_is_stopped(folder):
    done = ftlab(folder, "run", "--pause", "trainer.py")
    assert done.returncode == 3, done.stderr
    assert "NaN was already in parameter" in done.stderr
    assert "end" not in done.stdout


def test_a_script_without_training_says_so(folder):
    (folder / "train.py").write_text("print('hello')\n")
    done = ftlab(folder, "run", "--pause", "train.py")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "saw no training that it can stop" in done.stderr


def test_on_anomaly_needs_pause(folder):
    done = ftlab(folder, "run", "--on-anomaly", "abort", "train.py", "4")
    assert done.returncode == 2
    assert "add --pause" in done.stderr


def test_what_cannot_be_called_again_is_refused_before_it_runs(folder):
    (folder / "train.py").write_text(
        "print('ran')\nfor x in []:\n    print(locals())\n    x.backward()\n"
    )
    done = ftlab(folder, "run", "--pause", "train.py")
    assert done.returncode != 0
    assert done.stdout == ""
    assert "Line 3: `locals()` in the loop's body" in done.stderr


def typed(folder, lines):
    """Type ``lines`` at the prompts of a script in a terminal of its own."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        command = [sys.executable, "-m", "ftlab", "run", "--pause", "train.py", "3"]
        os.execve(sys.executable, command, environment())
    shown, waiting = "", list(lines)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            shown += os.read(terminal, 4096).decode()
        except OSError:
            break
        if waiting and shown.count("(ftlab) ") > len(lines) - len(waiting):
            os.write(terminal, f"{waiting.pop(0)}\n".encode())
    _, status = os.waitpid(child, 0)
    return shown.replace("\r", ""), os.waitstatus_to_exitcode(status)


def test_a_terminal_opens_a_prompt(folder):
    shown, code = typed(folder, ["back", "step module", "tensor", "resume"])
    assert code == 5, shown
    assert "(back)" in shown
    assert "float32[" in shown
    assert "\n2 nan" in shown


@pytest.mark.slow
def test_a_terminal_sets_breakpoints_and_writes_snapshots(folder):
    lines = [
        "back micro-batch 9",
        "back micro-batch 3",
        "break 1 when near ovrflow",
        "break when near overflow",
        "break 1",
        "breakpoints",
        "blame",
        "snapshot kept",
        "resume",
        "resume",
    ]
    shown, code = typed(folder, lines)
    assert code == 5, shown
    assert "Nothing that is kept leads further back." in shown
    assert "Looking at step 0" in shown
    assert "near ones are 'near overflow'" in shown
    assert "0 Breakpoint(beyond 50% of the dtype's range)" in shown
    assert "1 Breakpoint(1)" in shown
    assert "no loss over tokens" in shown
    assert "\nkept\n" in shown
    assert (folder / "kept" / "snapshot.json").is_file()


@pytest.mark.slow
def test_a_terminal_tries_changes_and_evaluates(folder):
    lines = [
        "p (x < 0).any(), round(total, 1) < 1",
        "p x[0, 0].item() / 0",
        "locals",
        "patch torch.zeros_like(x)",
        "replace aten.log x.clamp(min=1e-3).log()",
        "resume patched",
    ]
    shown, code = typed(folder, lines)
    assert code == 5, shown
    assert "(tensor(False), True)" in shown
    assert "ZeroDivisionError" in shown
    assert "\nx = float32[3, 4]," in shown
    assert "patch of aten.log.default" in shown
    assert "1 x aten.log replaced: gone" in shown
    assert "\n2 nan" not in shown
    assert "nan" not in shown.splitlines()[-2]
