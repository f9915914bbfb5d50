"""Run the notebooks and store their outputs, without times and widget state."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
"""What a notebook opens with; without it JupyterLab asks for one first."""


def store(path: Path) -> None:
    """Execute one notebook in place."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.setdefault("kernelspec", KERNEL)
    NotebookClient(
        notebook,
        timeout=300,
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    notebook.metadata.pop("language_info", None)
    nbformat.write(notebook, path)


for given in sys.argv[1:]:
    store(Path(given))
