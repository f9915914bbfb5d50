"""What is kept of a run to hold later ones against: a window of its steps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from ftlab.records.errors import RunFolderError
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
GRADIENT = "gradient of "


@dataclass(frozen=True, slots=True)
class Baseline:
    """Numbers of one run, from a window of its steps.

    Attributes
    ----------
    steps
        The window, ascending.
    columns
        By name, NaN where nothing is known: ``loss``; ``seconds``, without what the
        thread waited for a processor that others had; ``tokens_per_second`` of these;
        ``memory`` in bytes, of tensors on CUDA, else of the process; and the L2 norm of
        the gradient of each layer, at some steps.
    settings, tokenizer
        What the run was set to, and the digests of its tokenizer's parts, by path.
    checkpoints
        Share of the saves that were read back as written; NaN of none.
    """

    steps: NDArray[np.int64]
    columns: Mapping[str, Array]
    settings: Mapping[str, str]
    tokenizer: Mapping[str, str]
    checkpoints: float

    def at(self, steps: NDArray[np.int64]) -> dict[str, Array]:
        """Return the columns at some of the steps."""
        chosen = np.isin(self.steps, steps)
        return {name: values[chosen] for name, values in self.columns.items()}

    def save(self, path: Path) -> None:
        """Write it as JSON, all of it or nothing.

        Raises
        ------
        RunFolderError
            It cannot be written.
        """
        try:
            replace(path, dumps({"ftlab_baseline": VERSION, **asdict(self)}).encode())
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
        It is missing, damaged, no baseline, or of a newer ftlab.
    """
    try:
        with open_file(path) as opened:
            read = loads(opened.read())
        if read.pop("ftlab_baseline") > VERSION:
            msg = "a newer ftlab wrote it: pip install --upgrade ftlab"
            raise ValueError(msg)
        steps = read["steps"] = np.array(read["steps"], np.int64)
        columns = read["columns"].items()
        read["columns"] = {
            n: np.array(v, float).reshape(len(steps)) for n, v in columns
        }
        return Baseline(**read)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        msg = (
            f"{str(path)!r:.200} is no baseline: {why}. Pass the file that "
            "run.save_baseline() has written, or the folder of a run."
        )
        raise RunFolderError(msg) from error


def baseline_of(run: Run) -> Baseline:
    """Read the last steps of a run.

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
    table = run.window(max(last - WINDOW, 0), last).steps
    cuda = "cuda_allocated" in table and bool(table.known("cuda_allocated").any())
    seconds = table["seconds"] - np.nan_to_num(table["cpu_wait"])
    with np.errstate(all="ignore"):
        speed = table["tokens"] / seconds
    saves = [e.detail for e in run.events if e.kind == "checkpoint"]
    saved = [bool(each["saved"]) for each in saves if "saved" in each]
    columns = {
        "loss": np.where(table["skipped"], 0.0, table["loss"]),
        "seconds": seconds,
        "tokens_per_second": speed,
        "memory": table["cuda_allocated" if cuda else "rss"],
    }
    return Baseline(
        table.step.copy(),
        {name: np.array(each) for name, each in columns.items()}
        | _layers(run, table.step),
        {"/".join(path): str(value) for path, value in settings_of(run).items()},
        _tokenizer(run),
        sum(saved) / len(saved) if saved else float("nan"),
    )


def _layers(run: Run, steps: NDArray[np.int64]) -> dict[str, Array]:
    """Return the norms of layers at some steps: multiples that any run would take."""
    stride = 1
    while len(steps) > stride * LAYER_STEPS:
        stride *= 2
    names, found = run.names(), dict[str, "Array"]()
    for step in steps[steps % stride == 0].tolist():
        matrix = run.matrix("grad_l2", start=step, stop=step + 1)
        for number, norm in zip(matrix.ids.tolist(), matrix.values.sum(0), strict=True):
            name = GRADIENT + names[number].layer
            line = found.setdefault(name, np.full(len(steps), np.nan))
            at = int(np.searchsorted(steps, step))
            line[at] = np.hypot(np.nan_to_num(line[at]), np.nan_to_num(norm))
    return found


def _tokenizer(run: Run) -> dict[str, str]:
    """Return the digests of the parts of the last tokenizer that was told."""
    told = [each.detail for each in run.events if each.kind == "tokenizer"]
    kept = [each["fingerprint"] for each in told if "fingerprint" in each]
    last = [each for each in kept if each["digest"] == told[-1]["digest"]]
    if not last:
        return {}
    parts = {name: str(part["digest"]) for name, part in last[-1]["parts"].items()}
    return {"version": str(last[-1]["version"]), **parts}
