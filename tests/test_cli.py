"""The command line, run as a user runs it."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ftlab._version import __version__
from ftlab.cli import main

ROOT = Path(__file__).parents[1]


def ftlab(*arguments, folder=None, python=(), seconds=300):
    """Run ``python -m ftlab`` and return what it did."""
    return subprocess.run(
        [sys.executable, *python, "-m", "ftlab", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        timeout=seconds,
        check=False,
    )


def here(*arguments, folder=None):
    """Run the same in this process: a new one loads torch first, for seconds."""
    out, error = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        patch.setattr(sys, "argv", ["ftlab", *map(str, arguments)])
        patch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own
        patch.setenv("COLUMNS", "80")
        if folder is not None:
            patch.chdir(folder)
        with pytest.raises(SystemExit) as ended:
            main()
    code = ended.value.code or 0
    return SimpleNamespace(
        returncode=code, stdout=out.getvalue(), stderr=error.getvalue()
    )


def test_version_says_the_version():
    done = ftlab("--version")
    assert (done.returncode, done.stdout) == (0, f"ftlab {__version__}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a full device")
def test_a_full_disk_is_named():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ftlab", "rules"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            timeout=300,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("The output cannot be written: No space left")
    assert "Traceback" not in done.stderr


def test_help_lists_the_commands():
    done = ftlab("--help")
    assert done.returncode == 0
    for command in ("run", "check", "data", "explain", "rules", "faults", "demo"):
        assert f"  {command} " in done.stdout


@pytest.mark.parametrize(
    "arguments", [("--help",), ("explain", "GRD001"), ("rules",), ("run", "--help")]
)
def test_answers_that_need_no_torch_do_not_load_it(arguments):
    done = ftlab(*arguments, python=("-X", "importtime"))
    assert done.returncode == 0
    loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert "typer" in loaded
    assert not loaded & {"torch", "transformers", "matplotlib", "pandas", "IPython"}


def test_explain_shows_the_page():
    done = here("explain", "vanishing-gradient")
    assert done.returncode == 0
    assert "GRD001" in done.stdout
    assert "What it does" in done.stdout


def test_explain_of_an_unknown_rule_names_near_ones():
    done = here("explain", "vanishing-gradeint")
    assert done.returncode == 2
    assert "vanishing-gradient" in done.stderr
    assert "Traceback" not in done.stderr


def test_rules_are_listed_by_code():
    done = here("rules")
    codes = [line.split()[0] for line in done.stdout.splitlines()]
    assert codes == sorted(codes)
    assert "GRD001" in codes


@pytest.mark.parametrize("arguments", [("check",), ("chek",), ("run",), ("rules", "x")])
def test_a_wrong_command_line_is_exit_2_and_no_traceback(arguments):
    done = here(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "Usage:" in done.stderr


def test_check_of_what_is_no_run_is_exit_2(tmp_path):
    done = here("check", tmp_path)
    assert done.returncode == 2
    assert "not the folder of a run" in done.stderr
    assert "Traceback" not in done.stderr


SICK = ROOT / "tests" / "golden" / "schema-1"


def test_check_of_a_sick_run_is_exit_1_and_says_what_to_do():
    done = ftlab("check", SICK)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ftlab: 80 steps, 1 finding, log in")
    assert lines[1] == "error NUM001 non-finite-loss"
    assert [line.split(":")[0].strip() for line in lines[3:6]] == [
        "where",
        "cause",
        "fix",
    ]
    assert any(line.startswith("not checked ADP001") for line in lines)


def test_check_of_a_damaged_run_is_exit_2_and_says_what_is_missing(tmp_path):
    shutil.copytree(SICK, tmp_path / "run")
    file = tmp_path / "run" / "rank-00000" / "ledger-000000.arrow"
    file.write_bytes(file.read_bytes()[:100])
    done = here("check", tmp_path / "run")
    assert done.returncode == 2
    assert f"{str(file)!r} is damaged" in done.stdout
    assert "error NUM001 non-finite-loss" in done.stdout
    assert "Traceback" not in done.stderr


def test_check_as_json_can_be_read_by_machines():
    done = here("check", "--json", SICK)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert told["steps"] == 80
    (finding,) = told["findings"]
    assert (finding["code"], finding["severity"]) == ("NUM001", "error")
    assert finding["places"][0] == {"kind": "object", "name": "loss"}


def test_check_of_a_healthy_run_is_exit_0(tmp_path):
    import torch

    from ftlab.session.watch import watch

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, optimizer, run_dir=tmp_path / "run"):
        for _ in range(6):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
    done = here("check", tmp_path / "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ftlab: 6 steps, no findings")


def test_faults_are_listed_for_people_and_for_machines():
    listed = here("faults", "list")
    assert listed.returncode == 0
    assert "\nadapter:\n" in f"\n{listed.stdout}"
    assert "  lora-b-frozen " in listed.stdout
    rows = json.loads(here("faults", "list", "--json").stdout)
    (row,) = [row for row in rows if row["id"] == "lora-b-frozen"]
    assert row["code"] == "ADP001"
    assert row["fix"]


@pytest.mark.slow
def test_a_fault_is_run_and_found_and_its_twin_is_left_in_peace():
    done = ftlab("faults", "run", "lora-b-frozen")
    assert done.returncode == 0
    assert done.stdout.startswith("lora-b-frozen (adapter, found by ADP001)\nSymptom: ")
    assert "\nerror ADP001 adapter-stuck-at-zero\n" in done.stdout
    done = ftlab("faults", "run", "lora-b-frozen", "--fixed", "--steps", "2")
    assert done.returncode == 0
    assert "2 steps of its healthy twin" in done.stdout
    assert done.stdout.endswith("No findings.\n")


@pytest.mark.slow
def test_an_unknown_fault_and_an_unknown_area_are_exit_2():
    done = here("faults", "run", "lora-b-forzen")
    assert done.returncode == 2
    assert "Near: lora-b-frozen" in done.stderr
    done = here("faults", "score", "--area", "adaptor")
    assert done.returncode == 2
    assert "The gallery has no area 'adaptor'" in done.stderr


def test_faults_are_scored_into_a_file(tmp_path, monkeypatch):
    from ftlab.faults.registry import list_healthy, load
    from ftlab.session import score

    faults = (load("optimizer-stale-params"), load("lora-b-frozen"))
    monkeypatch.setattr(score, "list_faults", lambda: faults)
    beside = ("gradients-of-the-input", "rows-of-poems")
    healthy = [each for each in list_healthy() if each.id in beside]
    monkeypatch.setattr(score, "list_healthy", lambda: healthy)
    file = tmp_path / "score.json"
    done = here("faults", "score", "--area", "optimizer", "--json", file)
    assert done.returncode == 0
    told = json.loads(file.read_text())
    assert [each["id"] for each in told["faults"]] == ["optimizer-stale-params"]
    assert [each["id"] for each in told["healthy"]] == ["gradients-of-the-input"]


@pytest.mark.slow
def test_an_area_is_scored_into_a_file(tmp_path):
    file = tmp_path / "score.json"
    arguments = "faults", "score", "--area", "environment", "--json", file
    done = ftlab(*arguments, seconds=3600)
    assert done.returncode == 0, done.stdout
    assert "recall            100.0%" in done.stdout
    totals = json.loads(file.read_text())["totals"]
    assert totals["recall"] == totals["location_accuracy"] == 1.0
