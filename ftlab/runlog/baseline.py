"""What is kept of a run to hold later ones against: the last of its steps."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from ftlab.records.errors import RunFolderError
from ftlab.records.name_words import listed
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

VERSION, WINDOW = 1, 500
GRADIENT = "gradient of "


@dataclass(frozen=True, slots=True)
class Baseline:
    """Numbers of one run.

    Attributes
    ----------
    columns
        By name, for each step, NaN where nothing is known: ``loss``; ``seconds``,
        without the wait for a processor that others had; ``tokens_per_second`` of
        these; ``memory`` in bytes, of tensors on CUDA, else of the process; ``idle``,
        those in use before a step; ``rows`` and ``tokens``, unless the file is older;
        and the norm of the gradient of each layer.
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
        """Write it as JSON, all of it or nothing; a RunFolderError tells why."""
        try:
            replace(path, dumps({"ftlab_baseline": VERSION, **asdict(self)}).encode())
        except OSError as error:
            msg = f"The baseline {str(path)!r} cannot be written: {error.strerror}."
            raise RunFolderError(msg) from error


def load_baseline(path: Path) -> Baseline:
    """Read what `Baseline.save` has written; a RunFolderError tells what it is else."""
    names, why = [each.name for each in fields(Baseline)], "it is not JSON"
    try:
        with open_file(path) as opened:
            read = loads(opened.read())
        held = list(read) if isinstance(read, dict) else [f"a {type(read).__name__}"]
        expected = listed(["ftlab_baseline", *names], 9)
        why = f"it holds {listed(held, 3) or 'nothing'}, and should hold {expected}"
        if read.pop("ftlab_baseline") > VERSION:
            why = "a newer ftlab wrote it: pip install --upgrade ftlab"
            raise ValueError(why)
        if {*read} != {*names}:
            raise ValueError(why)
        why = "its columns do not have one number for each of its steps"
        steps = read["steps"] = np.array(read["steps"], np.int64)
        columns = read["columns"].items()
        read["columns"] = {
            n: np.array(v, float).reshape(len(steps)) for n, v in columns
        }
        return Baseline(**read)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        msg = (
            f"{str(path)!r:.200} is no baseline: "
            f"{getattr(error, 'strerror', None) or why}. Pass the file that "
            "run.save_baseline() has written, or the folder of a run."
        )
        raise RunFolderError(msg) from error


def baseline_of(run: Run) -> Baseline:
    """Read the last steps of a run."""
    first, events = max(run.last_step + 1 - WINDOW, 0), run.events
    table = run.window(first).steps
    cuda = "cuda_allocated" in table and bool(table.known("cuda_allocated").any())
    seconds = table["seconds"] - np.nan_to_num(table["cpu_wait"])
    saves = [e.detail for e in events if e.kind == "checkpoint" and "saved" in e.detail]
    with np.errstate(all="ignore"):
        columns = {
            "loss": np.where(table["skipped"], 0.0, table["loss"]),
            "seconds": seconds,
            "tokens_per_second": table["tokens"] / seconds,
            "memory": np.array(table["cuda_allocated" if cuda else "rss"]),
            "idle": np.array(table["idle_bytes"]),
            "rows": np.array(table["batch_size"]),
            "tokens": np.array(table["tokens"]),
        }
    names, matrix = run.names(), run.matrix("grad_l2", start=first)
    squares = np.full((len(table), len(matrix.ids)), np.nan)
    rows = np.isin(table.step, matrix.steps)
    squares[rows] = np.nan_to_num(matrix.values[np.isin(matrix.steps, table.step)]) ** 2
    layers = [names[number].layer for number in matrix.ids.tolist()]
    for layer in dict.fromkeys(layers):
        mine = [at for at, each in enumerate(layers) if each == layer]
        columns[GRADIENT + layer] = np.sqrt(squares[:, mine].sum(1))
    told = [each.detail for each in events if each.kind == "tokenizer"]
    prints = [each["fingerprint"]["parts"] for each in told if "fingerprint" in each]
    return Baseline(
        table.step.copy(),
        columns,
        {"/".join(path): str(value) for path, value in settings_of(run).items()},
        {n: str(p["digest"]) for n, p in (prints[-1] if prints else {}).items()},
        sum(each["saved"] for each in saves) / len(saves) if saves else float("nan"),
    )
