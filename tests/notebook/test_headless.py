"""Notebooks that nobody looks at while they run: no front end, no widgets."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.notebook.test_debugging import LOOP, SETUP

pytestmark = pytest.mark.ipython

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def executed(notebook, folder):
    """Run a notebook as ``jupyter nbconvert --execute`` does, and return its texts."""
    NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(folder)}}
    ).execute()
    return [
        "".join(
            output.get("text") or output.get("data", {}).get("text/plain", "")
            for output in cell.get("outputs", ())
        )
        for cell in notebook.cells
    ]


def test_an_unchanged_cell_is_debugged(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(NOTEBOOKS.parent))
    cells = [
        "%load_ext ftlab" + SETUP,
        "%%ftlab debug" + LOOP,
        "dbg",
        "print(dbg.back().op, dbg.step().op)",
        "print(dbg.patch(lambda x: x.nan_to_num()).trial)",
        "dbg.resume(with_patch=True)",
        "%%ftlab debug -o again\nfor batch in data:\n"
        "    net(batch).log().mean().backward()",
    ]
    made = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    told = executed(made, tmp_path)
    assert "NaN first appeared in no module" in told[1]
    assert told[2] == told[1]
    assert told[3].split() == ["aten.add.Tensor", "aten.log.default"]
    assert told[4].startswith("patch of aten.log.default")
    assert told[5].endswith("The run is finished, after 3 optimizer steps.")
    assert "Paused" in told[6]  # and the kernel shuts down all the same


@pytest.mark.slow
@pytest.mark.parametrize("name", ["00_start_here", "10_first_nan"])
def test_a_notebook_is_the_same_without_a_front_end(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(NOTEBOOKS.parent))
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    executed(notebook, tmp_path)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert "error" not in {output.output_type for output in outputs}
