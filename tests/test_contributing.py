"""What CONTRIBUTING.md tells people to write works, as it stands there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = dict(
    re.findall(
        r"```python\n# (ftlab/\S+\.py)\n(.*?)```",
        (ROOT / "CONTRIBUTING.md").read_text(),
        flags=re.DOTALL,
    )
)

USE = """
import torch, ftlab
from ftlab.probes.tensors.gradient_spread import GradientSpread
from ftlab.views.step_time import StepTimeView

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
spread = []
with ftlab.watch(model, optimizer, run_dir="run", probes=[GradientSpread()]) as w:
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        norms = [float(p.grad.norm()) for p in model.parameters()]
        spread.append(max(norms) / min(norms))
        optimizer.step()
torch.testing.assert_close(
    torch.tensor(w.run.steps["gradient_spread"]), torch.tensor(spread).double()
)
view = StepTimeView(w.run)
assert repr(view) == "Step time: 3 steps"
assert view.table()["seconds"].notna().all()
assert view.figure().axes

from ftlab.records.step import StepRecord
from ftlab.rules.engine import Engine
from ftlab.rules.registry import all_rules, find_rule
from ftlab.runlog.run import Run

assert find_rule("mostly-padding") in all_rules()
sick = Run(path=None, meta={})
sick.append(StepRecord(step=0, time=0.0, values={"padding": 90.0, "tokens": 10.0}))
(finding,) = Engine([find_rule("DAT110")]).check(sick).findings
assert finding.message == "90% of all tokens are padding"
assert [n.code for n in Engine([find_rule("DAT110")]).check(w.run).not_checked]

from ftlab.faults.registry import load

fault = load("optimizer-gets-half")
assert fault.fix
assert fault.source
for fixed in (False, True):
    case = fault.build(fixed)
    with ftlab.watch(case.model, case.optimizer, run_dir=f"fixed-{fixed}") as w:
        case.run(fault.steps)
    expected = set() if fixed else {fault.code}
    assert {f.code for f in w.findings} - set(fault.also) == expected, repr(w.findings)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contribution")
    shutil.copytree(ROOT / "ftlab", folder / "ftlab")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for path, text in EXAMPLES.items():
        assert not (folder / path).exists(), f"{path} is taken; choose another example"
        (folder / path).write_text(text)
    return folder


def run(folder, *command):
    """Run a command where the copy of ftlab comes first on the path."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": str(Path(sys.executable).parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_shows_one_file_of_each_kind():
    kinds = [path.split("/")[1] for path in EXAMPLES]
    assert kinds == ["probes", "rules", "views", "faults"]


@pytest.mark.slow
def test_the_examples_work_without_another_edit(copy):
    result = run(copy, "-c", USE)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("tool", [["ruff", "check"], ["ruff", "format", "--check"]])
def test_the_examples_are_in_style(copy, tool):
    pytest.importorskip("ruff", reason="style is checked in the main environment")
    result = run(copy, "-m", *tool, *EXAMPLES)
    assert result.returncode == 0, result.stdout


def test_every_file_that_is_named_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    way = text.split("## A step's way through the house")[1].split("\n## ")[0]
    named = re.findall(r"`([a-z_/]+(?:\.py|/))`", way)
    floors = text.split("## The floors")[1].split("\n## ")[0]
    for line in floors.splitlines():
        if line.startswith("| `"):
            floor, _, read_first = line.strip("| ").split(" | ")
            folder = re.findall(r"`(\w+)`", floor)[0]
            files = re.findall(r"`([\w/]+\.py)`", read_first)
            named += [
                file
                if file == "cli.py"
                else f"{folder}/{file.removeprefix(f'{folder}/')}"
                for file in files
            ]
    assert len(named) > 12 + 3 * 8
    places = [
        ROOT / name if name.startswith("ftlab/") else ROOT / "ftlab" / name
        for name in named
    ]
    assert [str(place) for place in places if not place.exists()] == []
