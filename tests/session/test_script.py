"""Unedited scripts under ``ftlab run``, as subprocesses."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ftlab.runlog.reader import open_log

ROOT = Path(__file__).parents[2]

LOOP = """
import sys
import torch

def train(arguments):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(5):
        optimizer.zero_grad()
        loss = model(torch.randn(3, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    if "fail" in arguments:
        raise ValueError("boom")

if __name__ == "__main__":
    train(sys.argv[1:])
    print(sys.argv, __file__, sys.path[0])
"""

ENDS = """
import sys

def end(how):
    if how == "fail":
        raise ValueError("boom")
    sys.exit({"code": 7, "message": "gave up", "well": None}[how])

print("before")
end(sys.argv[1])
"""

CAUSAL = """
import torch
from tests.models import batches, tiny_lora

torch.set_num_threads(1)
model = tiny_lora()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in batches(3):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
"""

TRAINER = """
import torch
from transformers import Trainer, TrainingArguments
from tests.models import Rows, tiny_lora

torch.set_num_threads(1)
arguments = TrainingArguments(
    "out", max_steps=4, report_to=[], disable_tqdm=True, use_cpu=True,
    save_strategy="no", logging_steps=1, learning_rate=1e-3,
)
trainer = Trainer(model=tiny_lora(), args=arguments, train_dataset=Rows(16))
trainer.train()
print([round(entry.get("loss", 0), 4) for entry in trainer.state.log_history])
"""

WAIT = """
import time, torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print("ready", flush=True)
time.sleep(60)
"""

RANKED = """
import os, torch
import torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4) * (1 + dist.get_rank())).sum().backward()
    optimizer.step()
dist.destroy_process_group()
"""


def environment():
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def python(folder, *arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(),
        timeout=300,
        check=False,
    )


def ftlab(folder, *arguments):
    return python(folder, "-m", "ftlab", *arguments)


@pytest.fixture
def script(tmp_path):
    def write(text):
        (tmp_path / "train.py").write_text(textwrap.dedent(text))
        return tmp_path

    return write


def test_a_loop_prints_what_it_prints_and_is_logged(script):
    folder = script(LOOP)
    plain = python(folder, "train.py", "--lr", "1")
    watched = ftlab(folder, "run", "--run-dir", "log", "train.py", "--lr", "1")
    assert watched.returncode == plain.returncode == 0
    assert watched.stdout == plain.stdout
    run = open_log(folder / "log")
    printed = [float(line.split()[1]) for line in plain.stdout.splitlines()[:5]]
    assert run.steps["loss"] == pytest.approx(printed)
    assert run.meta["ended"] in ("finished", "the model was deleted")
    assert "ftlab: 5 steps," in watched.stderr
    assert "log in log" in watched.stderr


@pytest.mark.parametrize(
    ("how", "code"), [("fail", 1), ("code", 7), ("message", 1), ("well", 0)]
)
def test_exit_codes_and_errors_are_the_scripts_own(script, how, code):
    folder = script(ENDS)
    plain = python(folder, "train.py", how)
    watched = ftlab(folder, "run", "train.py", how)
    assert watched.returncode == plain.returncode == code
    assert watched.stdout == plain.stdout == "before\n"
    told = [line for line in watched.stderr.splitlines() if "ftlab saw" not in line]
    assert told == plain.stderr.splitlines()


def test_an_error_after_training_is_in_the_log_and_in_the_traceback(script):
    folder = script(LOOP)
    watched = ftlab(folder, "run", "--run-dir", "log", "train.py", "fail")
    assert watched.returncode == 1
    assert "ValueError: boom" in watched.stderr
    assert "ftlab/session" not in watched.stderr
    assert open_log(folder / "log").meta["ended"] == "failed: ValueError: boom"


@pytest.mark.slow
def test_a_trainer_script_is_watched(script):
    folder = script(TRAINER)
    plain = python(folder, "train.py")
    watched = ftlab(folder, "run", "--run-dir", "log", "train.py")
    assert watched.returncode == 0, watched.stderr
    assert watched.stdout.splitlines()[-1] == plain.stdout.splitlines()[-1]
    run = open_log(folder / "log")
    assert len(run.steps) == 4
    assert run.facts.training["trainer_class"] == "Trainer"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [LOOP, TRAINER, CAUSAL],
    ids=["own", "trainer", "loop"],
)
def test_what_must_hold_is_tried_first_and_changes_nothing(script, text):
    folder = script(text)
    plain = python(folder, "train.py")
    proven = ftlab(folder, "run", "--prove", "train.py")
    assert proven.returncode == 0, proven.stderr
    lines = plain.stdout.splitlines()
    numbers = [s for s in lines if "train.py" not in s and "runtime" not in s]
    assert [n for n in numbers if n in proven.stdout.splitlines()] == numbers
    assert "Proof of" in proven.stderr
    assert "broken" not in proven.stderr


def test_a_script_without_training_says_so_and_loads_no_torch(script):
    folder = script("import sys\nprint('torch' in sys.modules)\n")
    watched = ftlab(folder, "run", "train.py")
    assert (watched.returncode, watched.stdout) == (0, "False\n")
    assert "saw no training" in watched.stderr
    assert not (folder / "runs").exists()


def test_a_syntax_error_is_shown_as_python_shows_it(script):
    folder = script("a = = 1\n")
    plain = python(folder, "train.py")
    watched = ftlab(folder, "run", "train.py")
    assert watched.returncode == plain.returncode == 1
    assert (
        plain.stderr.splitlines()[-3:]
        == [line for line in watched.stderr.splitlines() if "ftlab saw" not in line][
            -3:
        ]
    )


def test_a_missing_script_is_exit_2(tmp_path):
    done = ftlab(tmp_path, "run", "nowhere.py")
    assert done.returncode == 2
    assert "ftlab run nowhere.py: No such file" in done.stderr


@pytest.fixture
def package(tmp_path):
    inner = tmp_path / "mine" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "mine" / "__init__.py").write_text("")
    (inner / "__init__.py").write_text("print('package')\n")
    (inner / "loop.py").write_text(LOOP)
    shown = "print(sys.argv, __file__, sys.path[0], __package__, __spec__.name)\n"
    use = "import sys\nfrom .loop import train\ntrain(sys.argv[1:])\n" + shown
    (inner / "run.py").write_text(use)
    (inner / "__main__.py").write_text(use)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["mine.inner.run", pytest.param("mine.inner", marks=pytest.mark.slow)]
)
def test_a_module_runs_as_after_python_m(package, name):
    plain = python(package, "-m", name, "--lr", "1")
    watched = ftlab(package, "run", "--run-dir", "log", "-m", name, "--lr", "1")
    assert (plain.returncode, watched.returncode) == (0, 0), watched.stderr
    assert watched.stdout == plain.stdout
    assert len(open_log(package / "log").steps) == 5
    failing = ftlab(package, "run", "-m", name, "fail")
    assert failing.returncode == 1
    assert "ValueError: boom" in failing.stderr
    assert "ftlab/session" not in failing.stderr


def test_a_missing_module_is_exit_2_and_a_missing_part_an_import_error(package):
    done = ftlab(package, "run", "-m", "nowhere.train")
    assert done.returncode == 2
    assert "no module 'nowhere' on the path" in done.stderr
    part = ftlab(package, "run", "-m", "mine.nowhere")
    assert part.returncode == 1
    assert "No module named mine.nowhere" in part.stderr


def test_an_existing_folder_is_exit_2_and_the_script_does_not_run(script):
    folder = script("print('ran')\n")
    (folder / "log").mkdir()
    done = ftlab(folder, "run", "--run-dir", "log", "train.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "exists already" in done.stderr


def test_an_interrupt_ends_the_script_as_python_would(script):
    folder = script(WAIT)
    process = subprocess.Popen(
        [sys.executable, "-m", "ftlab", "run", "--run-dir", "log", "train.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(),
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert errors.count("KeyboardInterrupt") == 1
    assert open_log(folder / "log").meta["ended"] == "interrupted"


@pytest.mark.slow
def test_under_torchrun_each_rank_writes_its_folder(script):
    folder = script(RANKED)
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    done = python(folder, *launch, "-m", "ftlab", "run", "train.py")
    assert done.returncode == 0, done.stderr
    (log,) = (folder / "runs").iterdir()
    assert sorted(each.name for each in log.glob("rank-*")) == [
        "rank-00000",
        "rank-00001",
    ]
    assert [len(open_log(log, rank=rank).steps) for rank in (0, 1)] == [3, 3]
    assert done.stderr.count("ftlab: 3 steps") == 1
