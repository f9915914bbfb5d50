"""The checklist of a run that is under way or over: what its records say, no more."""

import numpy as np

from ftlab.records.checklist import CheckItem
from ftlab.rules.layers import rule_items
from ftlab.rules.report import Report
from ftlab.rules.words import counted, listed, number
from ftlab.runlog.run import Run
from ftlab.session.preflight.logging_checks import asked_logging
from ftlab.session.preflight.rollback_checks import asked_saving
from ftlab.session.preflight.saying import Check, Fault

_LABELS = Check("data", "labels to learn from")
_TRAINABLE = Check("model", "something is trainable")
_RATE = Check("optimizer", "the learning rate is above 0")
_DEVICE = Check("device", "where the model is")
_LOSS = Check("numerics", "losses and gradients are finite")
_LOG = Check("logging", "the run is logged")

WATCH = "watch it: ftlab.watch(trainer), or watch(model, optimizer)"


def run_checklist(run: Run, report: Report) -> list[CheckItem]:
    """Return the items of all seven layers.

    Parameters
    ----------
    run
        The records.
    report
        What the rules said of them.
    """
    args = run.facts.training.get("args", {})
    steps = run.facts.training.get("max_steps", 0)
    planned = int(steps) if isinstance(steps, int) and steps > 0 else 0
    return [
        _labels(run),
        _trainable(run),
        _rate(run),
        _device(run),
        _finite(run),
        _log(run),
        *asked_logging(args, planned),
        asked_saving(args, planned),
        *rule_items(run, report),
    ]


def _labels(run: Run) -> CheckItem:
    columns = run.steps.columns
    if "labels" not in columns or not run.steps.known("labels").any():
        return _LABELS.not_checked("no labels were recorded in the batches", WATCH)
    there = run.steps.known("labels")
    labels, ignored = run.steps["labels"][there], run.steps["ignored"][there]
    step = run.steps.step[there]
    empty = np.flatnonzero((labels == 0) & (ignored > 0))
    used = float(labels.sum()) / max(float((labels + ignored).sum()), 1.0)
    if not empty.size:
        return _LABELS.passed(f"{used:.1%} of the labels are trained on")
    return _LABELS.failed(
        Fault(
            f"in {counted(len(empty), 'step')} all labels are -100, first in step "
            f"{step[empty[0]]}: nothing is learned there",
            cause="The response template does not occur in the text, the completion "
            "was truncated, or the mask is inverted.",
            fix="ftlab.tokens(batch=batch, tokenizer=tokenizer) shows which tokens "
            "have a label.",
            places=[("data", "labels"), ("step", str(step[empty[0]]))],
        ),
        steps=len(empty),
        trained_share=used,
    )


def _trainable(run: Run) -> CheckItem:
    facts = run.facts.model
    if "trainable" not in facts:
        return _TRAINABLE.not_checked("the model was not read", WATCH)
    trained, total = int(facts["trainable"]), int(facts.get("parameters", 0))
    share = f"{trained:,} of {total:,} parameters are trainable"
    if trained:
        return _TRAINABLE.passed(share)
    return _TRAINABLE.failed(
        Fault(
            share,
            cause="The adapter was loaded for inference, or everything was frozen.",
            fix="PeftModel.from_pretrained(base, path, is_trainable=True), or "
            "get_peft_model after all freezing.",
            places=[("object", str(facts.get("class", "model")))],
        )
    )


def _rate(run: Run) -> CheckItem:
    if "lr" not in run.steps.columns or not len(run.steps):
        return _RATE.not_checked("no optimizer step was recorded", WATCH)
    rates = run.steps["lr"]
    peak = float(np.nan_to_num(rates).max(initial=0.0))
    steps = counted(len(run.steps), "step")
    if peak > 0:
        return _RATE.passed(f"at most {number(peak)} over {steps}", peak=peak)
    return _RATE.not_checked(
        f"it was 0 in all of {steps}", "let it run beyond the warm-up"
    )


def _device(run: Run) -> CheckItem:
    facts = run.facts.model
    if not facts.get("device"):
        return _DEVICE.not_checked("the model was not read", WATCH)
    kinds = listed(list(facts.get("dtypes", ())), 4)
    return _DEVICE.passed(f"{facts['device']}; {kinds}")


def _finite(run: Run) -> CheckItem:
    if not len(run.steps):
        return _LOSS.not_checked("no step was recorded", WATCH)
    bad = _bad_steps(run)
    known = run.steps.known("loss") if "loss" in run.steps.columns else np.zeros(0)
    if not bad.size:
        last = run.steps["loss"][known][-1] if known.any() else float("nan")
        return _LOSS.passed(
            f"{counted(len(run.steps), 'step')}"
            + (f", the last loss {number(float(last))}" if known.any() else "")
        )
    step = int(bad[0])
    return _LOSS.failed(
        Fault(
            f"{counted(len(bad), 'step')} with a loss or gradient that is NaN or "
            f"infinite, first step {step}",
            cause="An operation produced it from finite numbers; findings name what "
            "the records prove.",
            fix="ftlab.debug(trainer).run() stops at that operation.",
            places=[("step", str(step))],
        ),
        steps=len(bad),
    )


def _bad_steps(run: Run) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """List steps with a value that is not finite, which no scaler skipped."""
    bad = np.zeros(len(run.steps), bool)
    for column in ("loss", "grad_norm"):
        if column in run.steps.columns:
            bad |= run.steps.known(column) & ~np.isfinite(run.steps[column])
    if "skipped" in run.steps.columns:
        bad &= ~(run.steps["skipped"] > 0)
    return run.steps.step[bad]


def _log(run: Run) -> CheckItem:
    if run.path is None:
        return _LOG.not_checked("it is only in memory", WATCH)
    ended = run.meta.get("ended")
    return _LOG.passed(f"in {run.path}, {ended or 'under way'}")
