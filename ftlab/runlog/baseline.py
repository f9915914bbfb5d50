"""What is kept of a run to hold later ones against: a window of its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab.records.errors import RunFolderError, SchemaError
from ftlab.records.plain_files import open_file
from ftlab.runlog.codec import dumps, loads
from ftlab.runlog.disk import replace
from ftlab.runlog.setting_differences import settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from ftlab.runlog.run import Run

    Array = NDArray[np.float64]

VERSION = 1
WINDOW = 500
"""Steps that are kept, the last ones."""
LAYER_STEPS = 64
"""Steps of the window at which the gradients of layers are kept."""
COLUMNS = ("loss", "skipped")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Numbers of one run, from a window of its steps.

    Attributes
    ----------
    steps
        The window, ascending.
    columns
        By name: ``"loss"``, ``"skipped"``; ``"seconds"``, without what the thread
        waited for a processor that others had; ``"tokens_per_second"`` of these; and
        ``"memory"`` in bytes: what tensors hold on CUDA, else what the process does.
    layers
        L2 norm of the gradient by layer, NaN but at some steps.
    settings
        What the run was set to, by path.
    tokenizer
        Digest by part; empty where it is not known.
    checkpoints
        How many saves there were, and how many were read back as they were written.
    """

    steps: NDArray[np.int64]
    columns: Mapping[str, Array]
    layers: Mapping[str, Array]
    settings: Mapping[str, str] = field(default_factory=dict)
    tokenizer: Mapping[str, str] = field(default_factory=dict)
    checkpoints: tuple[int, int] = (0, 0)

    def at(self, steps: NDArray[np.int64]) -> Baseline:
        """Return the same of some of the steps."""
        chosen = np.isin(self.steps, steps)
        return Baseline(
            self.steps[chosen],
            {name: values[chosen] for name, values in self.columns.items()},
            {name: values[chosen] for name, values in self.layers.items()},
            self.settings,
            self.tokenizer,
            self.checkpoints,
        )

    def save(self, path: Path) -> None:
        """Write it as JSON, all of it or nothing.

        Raises
        ------
        RunFolderError
            It cannot be written.
        """
        value = {
            "ftlab_baseline": VERSION,
            "steps": self.steps.tolist(),
            "columns": {name: each.tolist() for name, each in self.columns.items()},
            "layers": {name: each.tolist() for name, each in self.layers.items()},
            "settings": dict(self.settings),
            "tokenizer": dict(self.tokenizer),
            "checkpoints": list(self.checkpoints),
        }
        try:
            replace(path, dumps(value).encode() + b"\n")
        except OSError as error:
            msg = (
                f"The baseline {str(path)!r} cannot be written: {error.strerror}. Pass "
                "a file on a disk with room: save_baseline('baseline.json')."
            )
            raise RunFolderError(msg) from error


def load_baseline(path: Path) -> Baseline:
    """Read what `Baseline.save` has written.

    Raises
    ------
    RunFolderError
        It is missing, damaged, or no baseline.
    SchemaError
        A newer ftlab wrote it.
    """
    try:
        with open_file(path) as opened:
            read = loads(opened.read())
        _refuse_newer(path, int(read["ftlab_baseline"]))
        steps = np.array(read["steps"], np.int64)
        return Baseline(
            steps,
            {name: _of(each, steps) for name, each in read["columns"].items()},
            {name: _of(each, steps) for name, each in read["layers"].items()},
            {str(k): str(v) for k, v in read["settings"].items()},
            {str(k): str(v) for k, v in read["tokenizer"].items()},
            (int(read["checkpoints"][0]), int(read["checkpoints"][1])),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        msg = (
            f"{str(path)!r:.200} is no baseline: {why}. Pass the file that "
            "run.save_baseline() has written, or the folder of a run."
        )
        raise RunFolderError(msg) from error


def _refuse_newer(path: Path, found: int) -> None:
    if found > VERSION:
        msg = f"{str(path)!r} was written by a newer ftlab: pip install -U ftlab"
        raise SchemaError(msg)


def _of(values: Any, steps: NDArray[np.int64]) -> Array:
    array = np.array(values, np.float64)
    if array.shape != steps.shape:
        msg = f"{array.shape} values for {len(steps)} steps"
        raise ValueError(msg)
    return array


def baseline_of(run: Run, window: int = WINDOW) -> Baseline:
    """Read the last ``window`` steps of a run.

    Examples
    --------
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.baseline import baseline_of
    >>> from ftlab.runlog.run import Run
    >>> run = Run()
    >>> run.append(StepRecord(step=0, time=0.0, loss=2.5))
    >>> baseline_of(run).columns["loss"]
    array([2.5])
    """
    last = run.last_step + 1
    table = run.window(max(last - window, 0), last).steps
    columns = {name: np.array(table[name], np.float64) for name in COLUMNS}
    cuda = "cuda_allocated" in table and bool(table.known("cuda_allocated").any())
    waited = np.nan_to_num(table["cpu_wait"]).clip(max=table["seconds"])
    columns["seconds"] = table["seconds"] - waited
    with np.errstate(all="ignore"):
        columns["tokens_per_second"] = table["tokens"] / columns["seconds"]
    columns["memory"] = np.array(table["cuda_allocated" if cuda else "rss"])
    return Baseline(
        table.step.copy(),
        columns,
        _layers(run, table.step),
        {"/".join(path): str(value) for path, value in settings_of(run).items()},
        _tokenizer(run),
        _checkpoints(run),
    )


def _layers(run: Run, steps: NDArray[np.int64]) -> dict[str, Array]:
    """Return the norms of layers at some steps: multiples that any run would take."""
    stride = 1
    while len(steps) > stride * LAYER_STEPS:
        stride *= 2
    names, found = run.names(), dict[str, "Array"]()
    for step in steps[steps % stride == 0].tolist():
        matrix = run.matrix("grad_l2", start=step, stop=step + 1)
        columns: dict[str, list[int]] = {}
        for at, number in enumerate(matrix.ids.tolist()):
            columns.setdefault(names[number].layer, []).append(at)
        for layer, places in columns.items() if len(matrix.steps) else ():
            norms = np.nan_to_num(matrix.values[0, places].astype(np.float64))
            blank = np.full(len(steps), np.nan)
            line = found.setdefault(layer, blank)
            line[np.searchsorted(steps, step)] = np.sqrt((norms**2).sum())
    return found


def _tokenizer(run: Run) -> dict[str, str]:
    """Return the digests of the parts of the last tokenizer that was told."""
    told = [each.detail for each in run.events if each.kind == "tokenizer"]
    digest = told[-1].get("digest") if told else None
    kept = [e["fingerprint"] for e in told if "fingerprint" in e]
    kept = [each for each in kept if each.get("digest") == digest]
    if not kept:
        return {}
    parts = {name: str(part["digest"]) for name, part in kept[-1]["parts"].items()}
    return {"version": str(kept[-1]["version"]), **parts}


def _checkpoints(run: Run) -> tuple[int, int]:
    told = [each.detail for each in run.events if each.kind == "checkpoint"]
    saves = [bool(each["saved"]) for each in told if "saved" in each]
    return len(saves), sum(saves)
