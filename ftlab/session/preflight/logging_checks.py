"""Layer *logging*: what happens will be written down somewhere."""

import importlib.util
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab.records.checklist import CheckItem
from ftlab.records.finding import Severity
from ftlab.session.preflight.saying import Check, Fault, Items

if TYPE_CHECKING:
    from ftlab.session.preflight.seen import (
        Seen,
    )  # brings torch, which an opened run can do without

RUNS = "runs"
"""Where `ftlab.watch` writes unless it is told otherwise."""

LEAST_FREE = 2**30
"""Bytes: below it a run log, let alone a checkpoint, may fill the disk."""

SHORT = 500
"""Steps; the interval at which transformers logs and saves unless it is told otherwise.

A run that is no longer is not expected to do either before its end.
"""

_FOLDER = Check("logging", "the run folder can be written")
_SPACE = Check("logging", "free disk space")
_STEPS = Check("logging", "the trainer logs within the run")
_TRACKERS = Check("logging", "trackers are installed")

_PACKAGES = {
    "mlflow": "mlflow",
    "wandb": "wandb",
    "comet_ml": "comet_ml",
    "neptune": "neptune",
    "clearml": "clearml",
    "trackio": "trackio",
    "swanlab": "swanlab",
    "dagshub": "dagshub",
}


def logging_checks(seen: "Seen") -> Items:
    """Yield the items of the layer."""
    folder = Path(RUNS).absolute()
    yield writable(_FOLDER, folder)
    yield _space(folder)
    yield from asked_logging(seen.facts.training.get("args", {}), seen.steps)


def asked_logging(args: Mapping[str, Any], steps: int) -> Items:
    """Yield what trainer arguments alone tell; a loop of one's own has none."""
    if not args:
        return
    yield _trackers(str(args.get("report_to", "")))
    yield _within(args, steps)


def existing(folder: Path) -> Path:
    """Return the nearest folder above that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def writable(check: Check, folder: Path) -> CheckItem:
    """Tell whether ``folder`` can be written or made; nothing is made."""
    there = existing(folder)
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        made = "exists" if there == folder else f"can be created in {there}"
        return check.passed(f"{folder} {made}")
    return check.failed(
        Fault(
            f"{folder} cannot be written: {there} "
            + ("is read-only" if there.is_dir() else "is a file"),
            cause="Another user owns it, it is mounted read-only, or a file has this "
            "name.",
            fix="Choose another folder: run_dir= of ftlab.watch, output_dir= of the "
            "trainer.",
            places=[("file", str(folder))],
        )
    )


def _space(folder: Path) -> CheckItem:
    free = shutil.disk_usage(existing(folder)).free
    if free >= LEAST_FREE:
        return _SPACE.passed(f"more than {LEAST_FREE // 2**30} GiB free", free=free)
    return _SPACE.failed(
        Fault(
            f"{free / 2**20:.0f} MiB are free where the run is logged",
            cause="Old checkpoints and caches fill the disk; a full one ends training "
            "when it saves.",
            fix="Free some space, or log to a different disk.",
            places=[("file", str(folder))],
        ),
        free=free,
        threshold=LEAST_FREE,
    )


def _trackers(report_to: str) -> CheckItem:
    named = [each.strip() for each in report_to.split(",") if each.strip()]
    named = [each for each in named if each not in ("none", "all")]
    lacking = [
        each
        for each in named
        if each in _PACKAGES and importlib.util.find_spec(_PACKAGES[each]) is None
    ]
    if lacking:
        return _TRACKERS.failed(
            Fault(
                f"report_to names {', '.join(lacking)}, which is not installed",
                cause="The trainer raises when training begins.",
                fix=f"pip install {' '.join(lacking)}, or report_to='none'.",
                places=[("config", "report_to")],
            )
        )
    told = ", ".join(named) or "none"
    return _TRACKERS.passed(f"report_to: {told}")


def _within(args: Mapping[str, Any], steps: int) -> CheckItem:
    strategy = str(args.get("logging_strategy", "steps"))
    every = args.get("logging_steps", 0)
    if strategy == "no" and 0 < steps <= SHORT:
        return _STEPS.passed(f"switched off, in a run of {steps} steps", steps=steps)
    if strategy == "no":
        return _STEPS.failed(
            Fault(
                "logging_strategy is 'no': the trainer will log no loss",
                cause="It was switched off.",
                fix="logging_strategy='steps', logging_steps=1; or watch the trainer.",
                places=[("config", "logging_strategy")],
                severity=Severity.WARNING,
            )
        )
    if strategy != "steps":
        return _STEPS.passed(f"logs by {strategy}")
    if not isinstance(every, int | float) or every < 1 or not steps:
        return _STEPS.passed(f"logs by {strategy}, logging_steps={every}")
    if every > steps and steps <= SHORT:
        return _STEPS.passed(f"only at the end, after {steps} steps", steps=steps)
    if every > steps:
        return _STEPS.failed(
            Fault(
                f"logging_steps={every:g} but the run has {steps} steps: the trainer "
                "logs no loss before the end",
                cause="The default of 500 is longer than a short fine-tune.",
                fix=f"logging_steps={max(1, steps // 20)}",
                places=[("config", "logging_steps")],
                severity=Severity.WARNING,
            ),
            logging_steps=every,
            steps=steps,
        )
    return _STEPS.passed(f"logs every {every:g} of {steps} steps", steps=steps)
