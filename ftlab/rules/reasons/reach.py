"""Why a gradient did not arrive: what the run proves, and what it leaves open.

`reason_of` tries the explanations from the most to the least specific and stops at the
first one that the records prove. When none holds it says so and names the candidates;
a guess is never given as the reason.
"""

from collections.abc import Callable

from ftlab.records.finding import Place
from ftlab.rules.reading.asked import asked
from ftlab.rules.reading.loss_gradient import zero_at_loss
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.reasons.call_order import no_backward, no_grad_forward, zeroed_too_late
from ftlab.rules.reasons.cut_pattern import lowest_layers, measured_cut
from ftlab.rules.reasons.idle_adapter import idle_adapter, quiet_adapter
from ftlab.rules.reasons.missing import Missing, Reason
from ftlab.rules.reasons.offloaded import offloaded
from ftlab.rules.reasons.stale_graph import stale_graph
from ftlab.rules.reasons.unreached import by_calls
from ftlab.runlog.run import Run

CONSTANT = 2
"""Backwards of which it must have been seen that their loss is a constant."""

ZERO_STEPS = 8
"""Steps without any gradient from the loss: rewards of a few may well be equal."""

_GROUPED = ("GRPOTrainer", "RLOOTrainer")
"""Trainers of TRL that compare rewards within a group."""


def reason_of(run: Run, missing: Missing) -> Reason:
    """Return the first reason that the run proves."""
    tests = _NONE if missing.none else _ZERO
    found = (test(run, missing) for test in tests)
    return next((reason for reason in found if reason is not None), _unknown(missing))


def _half_precision(run: Run, missing: Missing) -> Reason | None:
    if run.facts.training.get("scaler") is not False:
        return None
    if any(name.dtype.rpartition(".")[2] != "float16" for name in missing.lost):
        return None
    return Reason(
        "float16-without-scaler",
        "These tensors are float16 and no GradScaler is used: gradients below 3e-8 "
        "are exactly 0 there.",
        "Train in bf16, or keep the weights in float32 under autocast with a scaler.",
    )


def _no_labels(run: Run, missing: Missing) -> Reason | None:
    labels = run.steps["labels"]
    if missing.reached or not len(labels) or not (labels == 0).all():
        return None
    return Reason(
        "no-labels",
        "No label counted in the loss at any step: all labels are -100.",
        "Look at ftlab.tokens(batch=..., tokenizer=...): the label mask covers "
        "everything.",
        (Place("data", "labels"),),
    )


def _times_zero(run: Run, missing: Missing) -> Reason | None:
    told = [entry.detail.get("times_zero") for entry in run.ledger]
    products = [product for product in told if product]
    if missing.reached or len(products) < CONSTANT:
        return None
    named = [Place("config", "beta")] if asked(run).get("beta") == 0 else []
    return Reason(
        "loss-times-zero",
        "The model's output is multiplied by exactly 0 on its way to the loss, which "
        "is a constant" + (": beta is 0." if named else "."),
        "Set the coefficient: an integer division, an empty setting or a schedule that "
        "never leaves 0 makes it 0.",
        (*named, Place("call", "loss.backward"), Place("op", str(products[0]))),
    )


def _zero_at_loss(run: Run, missing: Missing) -> Reason | None:
    if missing.reached or len(run.steps) < ZERO_STEPS or not zero_at_loss(run):
        return None
    grouped = str(first_facts(run).training.get("trainer_class")) in _GROUPED
    return Reason(
        "zero-at-loss",
        "The gradient of the model's output is already exactly 0, so the cause is not "
        "in the model: its output is multiplied by 0 in the loss.",
        "Check the rewards: where all of a group are equal, each advantage is 0. "
        "frac_reward_zero_std in the Trainer's log is the share of such groups."
        if grouped
        else "Print what the loss multiplies by: advantages, weights or a mask that "
        "are 0 everywhere, or a clamp that is active everywhere.",
        (Place("call", "loss.backward"),),
    )


def _unknown(missing: Missing) -> Reason:
    if missing.none:
        return Reason(
            "unknown",
            "They did not contribute to the loss, or the graph is cut on the way. The "
            "run does not tell which.",
            "Do they belong to the task (an unused head, a pooler)? Then freeze them. "
            "Otherwise look for detach, .data, no_grad or .item() on their way.",
        )
    return Reason(
        "unknown",
        "They are in the graph, but something multiplies their gradient by exactly 0: "
        "a dead ReLU, a mask, a gate or a scaling of 0. The run does not tell which.",
        "Check the output of these modules: is it 0, saturated or masked everywhere?",
    )


Test = Callable[[Run, Missing], Reason | None]
_NONE: tuple[Test, ...] = (
    zeroed_too_late,
    no_backward,
    no_grad_forward,
    offloaded,
    measured_cut,
    stale_graph,
    idle_adapter,
    by_calls,
    quiet_adapter,
    lowest_layers,
)
_ZERO: tuple[Test, ...] = (_times_zero, _no_labels, _half_precision, _zero_at_loss)
