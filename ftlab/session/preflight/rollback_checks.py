"""Layer *rollback*: there will be something to go back to, and room for it."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab.records.checklist import CheckItem
from ftlab.records.finding import Severity
from ftlab.session.preflight.logging_checks import SHORT, existing, writable
from ftlab.session.preflight.saying import Check, Fault, Items

if TYPE_CHECKING:
    from ftlab.session.preflight.seen import (
        Seen,
    )  # brings torch, which an opened run can do without

MOMENTS = 8
"""Bytes per trained parameter that AdamW keeps: two moments in float32."""

_SAVES = Check("rollback", "checkpoints within the run")
_FOLDER = Check("rollback", "output_dir can be written")
_ROOM = Check("rollback", "room for checkpoints")

_ARGS = "preflight(..., args=args), or save yourself every few hundred steps"


def rollback_checks(seen: "Seen") -> Items:
    """Yield the items of the layer."""
    args = seen.facts.training.get("args", {})
    yield asked_saving(args, seen.steps)
    folder = args.get("output_dir")
    if folder and args.get("save_strategy", "steps") != "no":
        path = Path(str(folder)).absolute()
        yield writable(_FOLDER, path)
        yield _room(seen, args, path)


def asked_saving(args: Mapping[str, Any], steps: int) -> CheckItem:
    """Tell what trainer arguments alone say of checkpoints."""
    if not args:
        return _SAVES.not_checked("there are no trainer arguments", _ARGS)
    strategy = str(args.get("save_strategy", "steps"))
    every = args.get("save_steps", 500)
    if strategy == "no" and 0 < steps <= SHORT:
        return _SAVES.passed(f"switched off, in a run of {steps} steps", steps=steps)
    if strategy == "no":
        return _SAVES.failed(
            Fault(
                "save_strategy is 'no': no checkpoint will be written to go back to",
                cause="It was switched off; what is not saved by hand is lost when "
                "the process ends.",
                fix="save_strategy='steps', save_steps=..., save_total_limit=3",
                places=[("config", "save_strategy")],
                severity=Severity.WARNING,
            )
        )
    if strategy != "steps" or not isinstance(every, int | float) or every < 1:
        return _SAVES.passed(f"save_strategy {strategy!r}, save_steps={every}")
    if 0 < steps < every and steps <= SHORT:
        return _SAVES.passed(f"only at the end, after {steps} steps", steps=steps)
    if 0 < steps < every:
        return _SAVES.failed(
            Fault(
                f"save_steps={every:g} but the run has {steps} steps: only its end is "
                "saved",
                cause="The default of 500 is longer than a short fine-tune: a crash "
                "at the last step loses everything.",
                fix=f"save_steps={max(1, steps // 5)}",
                places=[("config", "save_steps")],
                severity=Severity.WARNING,
            ),
            save_steps=every,
            steps=steps,
        )
    limit = args.get("save_total_limit")
    kept = f", the last {limit} are kept" if limit else ""
    of = f" of {steps}" if steps else ""
    return _SAVES.passed(f"every {every:g}{of} steps{kept}")


def checkpoint_bytes(model_facts: Mapping[str, Any], args: Mapping[str, Any]) -> int:
    """Estimate a checkpoint: what is trained with PEFT, else all; and the moments."""
    trained = int(model_facts.get("trainable", 0))
    whole = int(model_facts.get("parameters", 0))
    wide = 4 if "float32" in model_facts.get("dtypes", {}) else 2
    saved = (trained if model_facts.get("peft") else whole) * wide
    return saved + (0 if args.get("save_only_model") else trained * MOMENTS)


def _room(seen: "Seen", args: Mapping[str, Any], path: Path) -> CheckItem:
    one = checkpoint_bytes(seen.facts.model, args)
    every = args.get("save_steps", 500)
    by_steps = isinstance(every, int | float) and every >= 1 and seen.steps
    planned = max(1, int(seen.steps // every)) if by_steps else 1
    limit = args.get("save_total_limit")
    kept = min(planned, limit + 1) if isinstance(limit, int) and limit > 0 else planned
    free = shutil.disk_usage(existing(path)).free
    what = f"{kept} x {one / 2**20:,.3g} MiB"
    if kept * one <= free:
        return _ROOM.passed(f"{what} fit on the disk", needed=kept * one, free=free)
    return _ROOM.failed(
        Fault(
            f"{what} do not fit: {free / 2**20:,.3g} MiB are free",
            cause="Every checkpoint is kept, or the disk is full: saving ends the run.",
            fix="save_total_limit=2, save_only_model=True, or a different output_dir.",
            places=[("config", "save_total_limit"), ("file", str(path))],
        ),
        needed=kept * one,
        free=free,
    )
