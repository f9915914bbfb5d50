"""Layer *numerics*: the dry steps are finite, and gradients reach what is trainable."""

import math
from collections.abc import Sequence

import numpy as np

from ftlab.records.checklist import CheckItem
from ftlab.records.name_words import in_words
from ftlab.records.names import NameRecord
from ftlab.rules.missing import Missing
from ftlab.rules.reach import reason_of
from ftlab.rules.words import counted, number
from ftlab.runlog.run import Run
from ftlab.session.preflight.saying import Check, Fault, Items
from ftlab.session.preflight.seen import Seen

_FINITE = Check("numerics", "dry steps are finite")
_BACKWARD = Check("numerics", "backward and update work")
_REACH = Check("numerics", "gradients reach what is trainable")

UNREACHED, NOT_FINITE = "GRD003", "NUM001"
"""The rules that tell why a gradient did not arrive, and where a loss broke."""


def numeric_checks(seen: Seen) -> Items:
    """Yield the items of the layer."""
    dry = seen.dry
    if dry.error is not None and dry.phase != "forward":
        yield _broken(seen)
    if not dry.losses:
        why = dry.why_not or "no dry step came through"
        yield _FINITE.not_checked(why, "hand over a batch, and step= where needed")
        return
    if NOT_FINITE not in seen.codes:
        yield _finite(dry.run, dry.losses)
    yield from _reach(dry.run, seen.codes)


def _broken(seen: Seen) -> CheckItem:
    error, phase = seen.dry.error, seen.dry.phase
    message = str(error).strip().splitlines() or ["no message"]
    call = "backward" if phase == "backward" else "step"
    return _BACKWARD.failed(
        Fault(
            f"{phase} raised {type(error).__name__}: {message[0]}",
            cause="The first step of training would end here. Where nothing requires "
            "a gradient, the loss hangs on no trainable parameter.",
            fix="Call the step once by hand for the whole traceback; "
            "loss.requires_grad must be true.",
            places=[("call", call)],
        ),
        error=type(error).__name__,
    )


def _finite(run: Run, losses: list[float]) -> CheckItem:
    norms = _norms(run)
    seen = {
        "losses": ", ".join(map(number, losses)),
        "gradient_norms": ", ".join(map(number, norms)),
    }
    says = f"loss {seen['losses']}; gradient norm {seen['gradient_norms'] or '-'}"
    if all(map(math.isfinite, losses)) and all(map(math.isfinite, norms)):
        return _FINITE.passed(says)
    what = "loss" if not all(map(math.isfinite, losses)) else "gradient norm"
    return _FINITE.failed(
        Fault(
            f"the {what} of a dry step is not finite: {says}",
            cause="NaN or Inf in the first steps comes from the data, from weights "
            "that were loaded broken, or from half precision without loss scaling.",
            fix="ftlab.debug(trainer).run() stops at the operation that makes it; "
            "try bf16 instead of fp16.",
            places=[("step", "0")],
        ),
        **seen,
    )


def _norms(run: Run) -> list[float]:
    """List gradient norms, those of steps that a scaler skipped left out."""
    if "grad_norm" not in run.steps.columns:
        return []
    usable = run.steps.known("grad_norm") & ~(run.steps["skipped"] > 0)
    return [float(each) for each in run.steps["grad_norm"][usable]]


def _reach(run: Run, codes: frozenset[str]) -> Items:
    has = run.matrix("has_grad").measured()
    if not has.ids.size or UNREACHED in codes:
        return  # the layer model says so, or the rule says it better
    reached = np.nan_to_num(has.values).max(axis=0) > 0
    names = [run.names()[row] for row in has.ids.tolist()]
    lost = [name for name, there in zip(names, reached, strict=True) if not there]
    all_ = counted(len(names), "trainable tensor")
    if not lost:
        yield _REACH.passed(f"all {all_} got one")
    elif len(lost) == len(names):
        yield _none_reached(run, lost, all_)
    else:
        words = in_words([name.name for name in lost])
        yield _REACH.not_checked(
            f"{len(lost)} of {all_} got none in {counted(len(run.steps), 'dry step')}: "
            f"{words}; idle experts and adapters used in turn look like that too",
            "watch the first steps: ftlab.watch(...), then watch.checklist",
        )


def _none_reached(run: Run, lost: Sequence[NameRecord], all_: str) -> CheckItem:
    reason = reason_of(run, Missing(none=True, lost=lost, reached=()))
    return _REACH.failed(
        Fault(
            f"none of {all_} got a gradient: nothing will be learnt",
            cause=reason.cause,
            fix=reason.fix,
            places=[
                *((place.kind, place.name) for place in reason.places),
                *(("param", name.name) for name in lost[:64]),
            ],
        ),
        lost=len(lost),
        reason=reason.kind,
    )
