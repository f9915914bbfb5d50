"""Layer *numerics*: the dry steps are finite, and gradients reach what is trainable."""

import math
from collections.abc import Sequence

import numpy as np

from ftlab.records.checklist import CheckItem
from ftlab.records.finding import Severity
from ftlab.records.name_words import in_words
from ftlab.records.names import NameRecord
from ftlab.rules.reading.outside import held_outside
from ftlab.rules.reasons.missing import Missing
from ftlab.rules.reasons.reach import reason_of
from ftlab.rules.words import counted, number
from ftlab.runlog.run import Run
from ftlab.session.preflight import checkpoint_trial, influence_trial
from ftlab.session.preflight.checkpoint_trial import CheckpointTrial
from ftlab.session.preflight.failing import Failure
from ftlab.session.preflight.influence_trial import Influence
from ftlab.session.preflight.saying import Check, Fault, Items
from ftlab.session.preflight.seen import Seen

NOT_THROUGH = "no dry step succeeded"
MEND_FIRST = "fix what failed above, and call preflight again"

_FINITE = Check("numerics", "dry steps are finite")
_BACKWARD = Check("numerics", "backward and update work")
_REACH = Check("numerics", "gradients reach what is trainable")
_AGAIN = Check("numerics", "gradients are those without checkpointing")

_CUT = (
    "Its values reach the loss, but the gradient does not come back: the graph is cut "
    "on the way (.detach(), .data, .numpy(), .item(), no_grad, a new tensor)."
)

_FLAT = (
    "It is in the graph, but something between it and the loss has no derivative: "
    "round, argmax or a comparison without a straight-through estimator, a saturated "
    "or dead activation, or two paths that cancel."
)

UNREACHED, NOT_FINITE, OTHERWISE = "GRD003", "NUM001", "GRD004"
"""The rules that tell why a gradient did not arrive, where a loss broke, and which
modules are computed otherwise when a checkpoint runs them again."""


def numeric_checks(seen: Seen) -> Items:
    """Yield the items of the layer."""
    dry = seen.dry
    if dry.failure is not None and dry.failure.phase not in ("forward", "step"):
        yield _broken(seen, dry.failure)
    if not dry.losses:
        failed = dry.failure is not None
        why = NOT_THROUGH if failed else dry.why_not or "no dry step was made"
        do = MEND_FIRST if failed else "pass a batch, and step= where needed"
        yield _FINITE.not_checked(why, do)
        return
    if NOT_FINITE not in seen.codes:
        yield _finite(dry.run, dry.losses)
    yield from _reach(dry.run, seen)
    yield from _as_without(seen.trial, seen.codes)


def _broken(seen: Seen, failure: Failure) -> CheckItem:
    """Say what a part after the forward raised, and which finding is its cause."""
    root = next((f for f in seen.findings if f.severity >= Severity.ERROR), None)
    cause = (
        "Training would stop here in its first step. If nothing requires a gradient, "
        "the loss depends on no trainable parameter."
    )
    fix = (
        "Call the step once by hand for the full traceback; loss.requires_grad must be "
        "true."
    )
    if root is not None:
        name = root.name.replace("-", " ")
        cause = f"It follows from {root.code}, {name}: {root.cause}"
        fix = f"Fix {root.code} first: {root.fix}"
    return _BACKWARD.failed(
        Fault(
            f"{failure.phase} raised {failure.message}",
            cause=cause,
            fix=fix,
            places=[("call", "backward" if failure.phase == "backward" else "step")],
            code="" if root is None else root.code,
        ),
        error=type(failure.error).__name__,
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
            cause="NaN or Inf in the first steps comes from the data, from badly "
            "loaded weights, or from half precision without loss scaling.",
            fix="ftlab.debug(trainer).run() stops at the operation that produces it; "
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


def _reach(run: Run, seen: Seen) -> Items:
    has = run.matrix("has_grad").measured()
    if not has.ids.size or UNREACHED in seen.codes:
        return  # the layer model says so, or the rule says it better
    if seen.influences:
        for none in (True, False):
            found = [each for each in seen.influences if each.none is none]
            if found:
                yield _cut_off(found, none=none)
        return
    reached = np.nan_to_num(has.values).max(axis=0) > 0
    named = [run.names()[row] for row in has.ids.tolist()]
    elsewhere = held_outside(run)
    names = [name for name in named if name.name not in elsewhere]
    got = {name.name for name, there in zip(named, reached, strict=True) if there}
    lost = [name for name in names if name.name not in got]
    if not names:
        return
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


def _cut_off(found: Sequence[Influence], *, none: bool) -> CheckItem:
    """Say that the loss depends on what gets no gradient."""
    what = "no gradient" if none else "a gradient of exactly 0"
    lost = [name for each in found for name in each.lost]
    most = max(found, key=lambda each: abs(each.after - each.before))
    return _REACH.failed(
        Fault(
            f"{in_words(lost)}: {what}, although the loss depends on it: noise on it "
            f"took the loss from {most.before:.6g} to {most.after:.6g}",
            cause=_CUT if none else _FLAT,
            fix="Follow its output: print x.requires_grad after each line between it "
            "and the loss."
            if none
            else "For a straight-through estimator: w + (q - w).detach().",
            places=[("param", name) for name in lost[:64]],
            code=UNREACHED,
        ),
        lost=len(lost),
        loss=most.before,
        changed_to=most.after,
        threshold=influence_trial.LIMIT,
    )


def _none_reached(run: Run, lost: Sequence[NameRecord], all_: str) -> CheckItem:
    reason = reason_of(run, Missing(none=True, lost=lost, reached=()))
    return _REACH.failed(
        Fault(
            f"none of {all_} got a gradient: nothing will be learned",
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


def _as_without(trial: CheckpointTrial | None, codes: frozenset[str]) -> Items:
    """Tell whether checkpointing leaves gradients as they are, if it was tried."""
    if trial is None or codes & {UNREACHED, OTHERWISE}:
        return  # there is no checkpointing, or a rule names the module
    if trial.why_not or not trial.tensors:
        why = trial.why_not or "the step left no gradients to compare"
        yield _AGAIN.not_checked(why, "compare p.grad of one step, on and off, by hand")
        return
    all_ = counted(trial.tensors, "tensor")
    if not trial.apart:
        how = f"within {number(trial.largest)}" if trial.largest else "bit for bit"
        yield _AGAIN.passed(f"{all_} {how} equal", largest=trial.largest)
        return
    names = list(trial.apart)
    yield _AGAIN.failed(
        Fault(
            f"{len(names)} of {all_} get different gradients with checkpointing than "
            f"without, by up to {number(trial.largest)}: {in_words(names)}",
            cause="The checkpointed function gives a different result when backward "
            "recomputes it (random numbers, a mode, a state, a precision), or a path "
            "of the gradient ends there.",
            fix="gradient_checkpointing_kwargs={'use_reentrant': False}, "
            "preserve_rng_state at its default, and nothing in the checkpointed "
            "function that counts calls or draws random numbers of its own.",
            # what is nearer to the loss is hit first
            places=[("param", name) for name in reversed(names[-64:])],
        ),
        largest=trial.largest,
        threshold=checkpoint_trial.LIMIT,
        noise=trial.noise,
    )
