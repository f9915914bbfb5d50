"""Keep everything, read batches, try two steps, judge, put everything back."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from ftlab.laboratory.memory.room import room_beside
from ftlab.probes.taps.forward import innermost
from ftlab.records.checklist import CheckItem, Layer, in_order
from ftlab.records.errors import FtlabWarning
from ftlab.records.finding import Severity
from ftlab.rules.engine import Engine
from ftlab.rules.layers import layer_of, rule_items
from ftlab.rules.registry import all_rules
from ftlab.rules.report import Report
from ftlab.rules.rule import Rule
from ftlab.session.preflight import dry_run, trainer_run
from ftlab.session.preflight.data_checks import HAND_OVER, data_checks
from ftlab.session.preflight.device_checks import device_checks
from ftlab.session.preflight.foreseen import foreseen, supposed
from ftlab.session.preflight.given import Given
from ftlab.session.preflight.kept import (
    Kept,
    KeptState,
    bytes_to_keep,
)
from ftlab.session.preflight.logging_checks import logging_checks
from ftlab.session.preflight.model_checks import model_checks
from ftlab.session.preflight.numeric_checks import (
    MEND_FIRST,
    NOT_THROUGH,
    numeric_checks,
)
from ftlab.session.preflight.optimizer_checks import optimizer_checks
from ftlab.session.preflight.reading import first_batches, sources
from ftlab.session.preflight.rollback_checks import rollback_checks
from ftlab.session.preflight.row_scan import scan_rows
from ftlab.session.preflight.seen import Seen
from ftlab.session.preflight.trying import try_steps

NOT_ASKED = "dry_steps=0: no step was tried"

UNMOVED = "step(batch) succeeded, but no optimizer stepped"
STEP_WHOLE = (
    "step(batch) with all of the loop's body: zero_grad(), loss.backward(), "
    "optimizer.step(), return loss"
)
TRAIN_FIRST = "if it should be trained, make something trainable first"

CHECKS: dict[Layer, Callable[[Seen], Iterator[CheckItem]]] = {
    "data": data_checks,
    "model": model_checks,
    "optimizer": optimizer_checks,
    "device": device_checks,
    "numerics": numeric_checks,
    "logging": logging_checks,
    "rollback": rollback_checks,
}


def look(given: Given, dry_steps: int) -> tuple[CheckItem, ...]:
    """Return the items of all layers; afterwards everything is as it was."""
    seen = Seen(
        given,
        dry_run.DryRun(),
        optimizers=given.optimizers,
        schedulers=given.schedulers,
    )
    hindered = _nothing_to_call(given) or _too_tight(given)
    seen.dry.why_not = hindered if dry_steps else NOT_ASKED
    kept = KeptState(_used(given, dry_steps, values=not seen.dry.why_not))
    changed: tuple[str, ...] = ()
    try:
        with _heard_later():
            _read(seen, dry_steps)
            try_steps(seen, kept)
        items = _items(seen)
    finally:
        changed = kept.restore()
        if changed:
            msg = (
                f"A dry step of preflight changed {changed[0]}, a frozen weight that "
                "is too large to be copied, and cannot restore it. Reload the model "
                "before you train."
            )
            warnings.warn(msg, FtlabWarning, stacklevel=4)
    return items


def _nothing_to_call(given: Given) -> str:
    """Say that only the user's loop knows how the parts of a model are called."""
    own = given.trainer is not None or given.step is not None
    model = innermost(given.model)
    if own or type(model).forward is not torch.nn.Module.forward:
        return ""
    kind = type(model).__name__
    return f"a {kind} has no forward; pass your loop's body: preflight(..., step=step)"


def _too_tight(given: Given) -> str:
    """Say why there is no room for the copies that undo a step, or return nothing."""
    needed, free = bytes_to_keep(given.model, given.optimizers), free_memory(given)
    if needed <= free:
        return ""
    gib = 2**30
    return (
        f"undoing a step needs copies of {needed / gib:.3g} GiB, but {free / gib:.3g} "
        "GiB are free"
    )


def free_memory(given: Given) -> float:
    """Return the free bytes where the model is."""
    return room_beside(given.model)


def _used(given: Given, dry_steps: int, *, values: bool) -> Kept:
    trainer = given.trainer
    owners = sources(given) if trainer is None else trainer_run.owners_of(trainer)
    scaler = given.scaler
    if trainer is not None:
        owners += sources(given)
        scaler = getattr(trainer.accelerator, "scaler", None)
    batches = given.batches
    firsts = batches[:dry_steps] if isinstance(batches, list | tuple) else ()
    return Kept(
        given.model,
        given.optimizers,
        given.schedulers,
        scaler,
        owners=owners,
        inputs=firsts,
        functions=() if given.step is None else (given.step,),
        values=values,
    )


@contextmanager
def _heard_later() -> Iterator[None]:
    """Keep warnings of the user's code for the training; pass on our own."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    for each in heard:
        if issubclass(each.category, FtlabWarning):
            warnings.warn(str(each.message), FtlabWarning, stacklevel=4)


# -- seeing


def _read(seen: Seen, dry_steps: int) -> None:
    try:
        seen.batches = first_batches(seen.given, max(dry_steps, 1))
    except Exception as error:  # noqa: BLE001  told as the item that failed
        seen.unread = error


# -- judging


def _items(seen: Seen) -> tuple[CheckItem, ...]:
    unseen = _checked("data", scan_rows, seen)
    rules = _rules(seen)
    asked = seen.facts.training.get("args", {})
    report = foreseen(_judged(seen, rules), asked)
    if seen.stood_in:
        report = supposed(report)
    bad = (each for each in report.findings if each.severity >= Severity.WARNING)
    seen.findings = tuple(bad)
    items = rule_items(seen.dry.run, report, rules, unrun=_unrun(seen))
    for layer, check in CHECKS.items():
        items += _checked(layer, check, seen)
    return in_order([*items, *unseen])


def _unrun(seen: Seen) -> tuple[str, str]:
    """Say why rules miss what steps record, and what to do; nothing where they do not.

    Said once: what each of them would need to see helps nobody then.
    """
    dry, facts = seen.dry, seen.facts.model
    if facts.get("trainable") == 0:
        return "nothing is trainable", TRAIN_FIRST
    if len(dry.run.steps):
        return "", ""
    if dry.failure is not None:
        return NOT_THROUGH, MEND_FIRST
    if dry.why_not:
        return dry.why_not, "ftlab.watch checks this in the first steps"
    if dry.losses:
        return UNMOVED, STEP_WHOLE
    return "no dry step was made", HAND_OVER


def _rules(seen: Seen) -> Sequence[Rule]:
    """Leave out what would be said of an optimizer that stood in."""
    rules = all_rules()
    if not seen.stood_in:
        return rules
    return [rule for rule in rules if layer_of(rule) != "optimizer"]


def _judged(seen: Seen, rules: Sequence[Rule]) -> Report:
    return Engine(rules).check(seen.dry.run)


def _checked(
    layer: Layer, check: Callable[[Seen], Iterator[CheckItem]], seen: Seen
) -> list[CheckItem]:
    """Run the checks of a layer; one that fails itself is told, and ends nothing."""
    items: list[CheckItem] = []
    try:
        items.extend(check(seen))
    except Exception as error:  # noqa: BLE001  an odd object must not end the list
        words = f"{type(error).__name__}: {error}"
        items.append(
            CheckItem(
                layer,
                "the rest of this layer",
                "not checked",
                f"the check itself failed with {words}",
                fix="report it; the other layers continue",
            )
        )
    return items
