"""mybinder.org can build the project, and opens the first notebook."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
BINDER = ROOT / "binder"


def dry_run(folder):
    """Let repo2docker write its Dockerfile, which needs neither docker nor network."""
    script = Path(sys.executable).with_name("jupyter-repo2docker")
    command = [script, "--no-build", "--debug", folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def pins(path):
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    requirements = [Requirement(x) for x in lines if x and not x.startswith("--")]
    return {r.name: str(r.specifier).removesuffix("+cpu") for r in requirements}


def test_repo2docker_accepts_the_project():
    result = dry_run(ROOT)
    assert result.returncode == 0, result.stderr
    dockerfile = result.stdout + result.stderr
    assert 'pip install --no-cache-dir -r "binder/requirements.txt"' in dockerfile
    assert "RUN ./binder/postBuild" in dockerfile


def test_the_dry_run_can_fail(tmp_path):
    (tmp_path / "binder").mkdir()
    (tmp_path / "binder/requirements.txt").write_text("")
    (tmp_path / "binder/runtime.txt").write_text("python-9.9\n")
    result = dry_run(tmp_path)
    assert result.returncode != 0
    assert "9.9" in result.stdout + result.stderr


def test_the_scripts_can_be_executed():
    assert os.access(BINDER / "postBuild", os.X_OK)


def test_installs_what_the_development_lock_pins():
    locked = pins(ROOT / "requirements/dev.txt")
    binder = pins(BINDER / "requirements.txt")
    assert binder == {name: locked[name] for name in binder}


def test_installs_everything_that_ftlab_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {Requirement(text).name for text in project["dependencies"]}
    assert needed | {"bitsandbytes"} <= pins(BINDER / "requirements.txt").keys()


@pytest.mark.parametrize("app", ["ServerApp", "LabApp", "JupyterNotebookApp"])
def test_opens_the_first_notebook(app):
    config = json.loads((BINDER / "jupyter_server_config.json").read_text())
    opened = config[app]["default_url"].removeprefix("/lab/tree/")
    assert opened == "notebooks/00_start_here.ipynb"
    assert (ROOT / opened).is_file()


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("notebooks/*.ipynb")), ids=lambda each: each.name
)
def test_a_notebook_opens_without_asking_for_a_kernel(path):
    metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
    assert metadata["kernelspec"]["name"] == "python3"
