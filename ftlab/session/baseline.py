"""Runs held against a baseline, from a notebook and from CI."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ftlab.records.errors import BadValueError
from ftlab.records.near import near
from ftlab.records.plain_files import is_folder, path_of
from ftlab.rules.words import an
from ftlab.runlog.baseline import Baseline, baseline_of, load_baseline
from ftlab.runlog.baseline_comparison import ALLOWED, compare_to
from ftlab.runlog.reader import open_log
from ftlab.runlog.run import Run
from ftlab.views.steps.baseline import BaselineView

_FILE = "save_baseline('baseline.json')"


def save_baseline(run: Run, path: str | Path | None) -> Path:
    """Keep a run's numbers in a file; see `RunViews.save_baseline`."""
    if not len(run.steps):
        msg = "This run has made no step yet; save its baseline when it has."
        raise BadValueError(msg)
    if path is not None:
        file = path_of(path, "path", _FILE)
    elif run.path is not None:
        file = run.path.with_name(f"{run.path.name}.baseline.json")
    else:
        msg = f"This run has no folder; pass a file for its baseline: {_FILE}."
        raise BadValueError(msg)
    baseline_of(run).save(file)
    return file


def against(
    run: Run, baseline: Any, allowed: Mapping[str, float] | None = None
) -> BaselineView:
    """Compare a run with a baseline; see `RunViews.compare`."""
    limits = checked(allowed or {})
    return BaselineView(compare_to(_opened(baseline), baseline_of(run), limits))


def _opened(given: Any) -> Baseline:
    given = getattr(given, "run", given)
    if isinstance(given, Baseline):
        return given
    if isinstance(given, Run):
        return baseline_of(given)
    if isinstance(given, str | Path):
        path = Path(given)
        return baseline_of(open_log(path)) if is_folder(path) else load_baseline(path)
    msg = (
        f"baseline is {an(type(given).__name__)}; pass the file of save_baseline(), "
        "the folder of a run, or an opened run: compare('baseline.json')."
    )
    raise BadValueError(msg)


def checked(allowed: Mapping[str, Any]) -> dict[str, float]:
    """Return limits, after a look at their names and values.

    Raises
    ------
    BadValueError
        There is no such quantity, or the limit is no number.
    """
    for name, value in allowed.items():
        if name not in ALLOWED:
            msg = f"allowed names no quantity {name!r}; {near(name, list(ALLOWED))}."
            raise BadValueError(msg)
        if not isinstance(value, int | float) or not value >= 0:
            msg = (
                f"allowed[{name!r}]={value!r}: it is a number, such as {ALLOWED[name]}."
            )
            raise BadValueError(msg)
    return {name: float(value) for name, value in allowed.items()}


def checked_run(path: Path, baseline: Path, allow: list[str]) -> BaselineView:
    """Compare a run's folder with a baseline; limits are texts, as ``name=1.5``.

    Raises
    ------
    BadValueError
        A limit is not so.
    RunFolderError
        One of them cannot be read.
    """
    limits: dict[str, Any] = {}
    for text in allow:
        name, _, value = text.partition("=")
        try:
            limits[name] = float(value)
        except ValueError:
            limits[name] = value
    return against(open_log(path), baseline, limits)
