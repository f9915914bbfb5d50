"""Keep everything, read batches, try two steps, judge, put everything back."""

import copy
import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psutil
import torch

from ftlab.probes.subject import Subject
from ftlab.records.checklist import CheckItem, Layer, in_order
from ftlab.records.errors import FtlabWarning
from ftlab.records.finding import Severity
from ftlab.rules.engine import Engine
from ftlab.rules.layers import layer_of, rule_items
from ftlab.rules.registry import all_rules
from ftlab.rules.report import Report
from ftlab.rules.rule import Rule
from ftlab.session.integrations.transformers import argument_facts, trainer_subject
from ftlab.session.preflight import dry_run, trainer_run
from ftlab.session.preflight.data_checks import data_checks
from ftlab.session.preflight.device_checks import device_checks
from ftlab.session.preflight.given import Given
from ftlab.session.preflight.kept import Kept, KeptState, bytes_to_keep
from ftlab.session.preflight.logging_checks import logging_checks
from ftlab.session.preflight.model_checks import model_checks
from ftlab.session.preflight.numeric_checks import numeric_checks
from ftlab.session.preflight.optimizer_checks import optimizer_checks
from ftlab.session.preflight.reading import first_batches, sources
from ftlab.session.preflight.rollback_checks import rollback_checks
from ftlab.session.preflight.seen import Seen

NOT_ASKED = "dry_steps=0: no step was tried"

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
    seen.dry.why_not = _too_tight(given) if dry_steps else NOT_ASKED
    kept = KeptState(_used(given, dry_steps, values=not seen.dry.why_not))
    changed: tuple[str, ...] = ()
    try:
        with _heard_later():
            _read(seen, dry_steps)
            _try(seen)
        items = _items(seen)
    finally:
        changed = kept.restore()
        if changed:
            msg = (
                f"A dry step of preflight has changed {changed[0]}, a frozen weight "
                "that is too large to be copied, and cannot put it back. Load the "
                "model again before you train."
            )
            warnings.warn(msg, FtlabWarning, stacklevel=4)
    return items


def _too_tight(given: Given) -> str:
    """Say why there is no room for the copies that undo a step, or return nothing."""
    needed, free = bytes_to_keep(given.model, given.optimizers), free_memory(given)
    if needed <= free:
        return ""
    gib = 2**30
    return (
        f"undoing a step takes copies of {needed / gib:.3g} GiB, and "
        f"{free / gib:.3g} GiB are free"
    )


def free_memory(given: Given) -> int:
    """Return the free bytes where the model is."""
    device = next(given.model.parameters()).device
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return int(psutil.virtual_memory().available)


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


def _try(seen: Seen) -> None:
    """Make the dry steps, or read the facts alone."""
    subject, step = _subject(seen), None
    if not seen.dry.why_not:
        step = _step_of(seen, subject)
    batches = itertools.islice(seen.batches, dry_run.STEPS if step else 0)
    # a step trains, also where preflight is called among evaluation
    with torch.inference_mode(mode=False), torch.enable_grad():
        dry_run.run_dry(seen.dry, subject, step, [_copied(each) for each in batches])


def _copied(batch: Any) -> Any:
    """Copy what holds a batch's tensors: steps take out what they have used."""
    return copy.copy(batch) if isinstance(batch, Mapping | list) else batch


def _subject(seen: Seen) -> Subject:
    given = seen.given
    if given.trainer is not None:
        subject = trainer_subject(given.trainer)
        seen.steps = trainer_run.planned_steps(given.trainer)
        subject.training["max_steps"] = seen.steps
    else:
        asked = {} if given.args is None else argument_facts(given.args)
        limit = _number(given.args, "max_steps")
        seen.steps = max(limit, 0)
        subject = Subject(
            given.model,
            given.optimizers,
            schedulers=given.schedulers,
            scaler=given.scaler,
            training={"args": asked} if asked else {},
        )
    subject.tokenizer = given.tokenizer
    subject.adapter_dir, subject.trained_as = given.adapter, given.trained_as
    return subject


def _number(args: Any, name: str) -> int:
    read = args.get if isinstance(args, Mapping) else lambda key: getattr(args, key, 0)
    value = read(name) if args is not None else 0
    return value if isinstance(value, int) else 0


def _step_of(seen: Seen, subject: Subject) -> Callable[[Any], Any] | None:
    given = seen.given
    if given.trainer is not None:
        return _trainer_step(seen, subject)
    if given.step is not None:
        return given.step
    if not any(each.requires_grad for each in given.model.parameters()):
        return dry_run.forward_only(given.model)
    if seen.optimizers:
        return dry_run.plain_step(given, seen.optimizers)
    seen.stood_in = True
    return dry_run.plain_step(given, dry_run.stand_in(given.model))


def _trainer_step(seen: Seen, subject: Subject) -> Callable[[Any], Any] | None:
    trainer, dry = seen.given.trainer, seen.dry
    dry.why_not = trainer_run.why_not(trainer)
    if dry.why_not:
        return None
    try:
        model = trainer_run.prepare(trainer, seen.steps)
    except Exception as error:  # noqa: BLE001  told as the item that failed
        dry.error, dry.phase = error, "preparation"
        return None
    seen.optimizers, seen.schedulers = (trainer.optimizer,), (trainer.lr_scheduler,)
    made = trainer_subject(trainer)
    subject.optimizers[:] = made.optimizers
    subject.schedulers[:] = made.schedulers
    subject.scaler = made.scaler
    return trainer_run.trainer_step(trainer, model)


# -- judging


def _items(seen: Seen) -> tuple[CheckItem, ...]:
    rules = _rules(seen)
    report = _judged(seen, rules)
    bad = (each for each in report.findings if each.severity >= Severity.WARNING)
    seen.codes = frozenset(each.code for each in bad)
    items = rule_items(seen.dry.run, report, rules)
    for layer, check in CHECKS.items():
        items += _checked(layer, check, seen)
    return in_order(items)


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
                fix="report it; the other layers go on",
            )
        )
    return items
