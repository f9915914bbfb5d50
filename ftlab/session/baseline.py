"""Runs held against a baseline, from a notebook and from CI."""

import contextlib
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


def save_baseline(run: Run, path: str | Path | None) -> Path:
    """Keep a run's numbers in a file; see `RunViews.save_baseline`."""
    example = "save_baseline('baseline.json')"
    if not len(run.steps) or (path is None and run.path is None):
        msg = f"This run has no step yet, or no folder: call {example} later."
        raise BadValueError(msg)
    file = path_of(path or f"{run.path}.baseline.json", "path", example)
    baseline_of(run).save(file)
    return file


def against(run: Run, baseline: Any, allowed: Mapping[str, Any]) -> BaselineView:
    """Compare a run with a baseline; see `RunViews.compare`."""
    limits = {}
    for name, value in allowed.items():
        if name not in ALLOWED:
            msg = f"allowed names no quantity {name!r}; {near(name, list(ALLOWED))}."
            raise BadValueError(msg)
        with contextlib.suppress(TypeError, ValueError):
            limits[name] = float(value)
        if not limits.get(name, 0) >= 1:
            msg = f"allowed[{name!r}]={value!r}: it is a factor, 1 or more."
            raise BadValueError(msg)
    found = compare_to(_opened(baseline), baseline_of(run), limits)
    return BaselineView(found, title="Against the baseline")


def _opened(given: Any) -> Baseline:
    given = getattr(given, "run", given)
    if isinstance(given, str | Path):
        path = Path(given)
        return baseline_of(open_log(path)) if is_folder(path) else load_baseline(path)
    if isinstance(given, Run):
        return baseline_of(given)
    msg = (
        f"baseline is {an(type(given).__name__)}; pass the file of save_baseline(), "
        "the folder of a run, or an opened run: compare('baseline.json')."
    )
    raise BadValueError(msg)
