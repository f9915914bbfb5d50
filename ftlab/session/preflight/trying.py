"""Making the dry steps: once, under autocast if need be, and without checkpointing.

Who calls whom: `try_steps` makes an attempt with `dry_run`. Where two precisions met in
a module that raised, it puts everything back and tries under autocast; where modules
ran again in backward, it compares gradients with `checkpoint_trial`. Where something in
the graph got no gradient, `influence_trial` changes it and looks at the loss.
"""

import copy
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ftlab.laboratory.memory.room import room_beside
from ftlab.probes.naming import named_parameters
from ftlab.probes.plain import readable
from ftlab.probes.subject import Subject
from ftlab.session.integrations.trainer_made import loader_facts
from ftlab.session.integrations.transformers import argument_facts, trainer_subject
from ftlab.session.preflight import (
    checkpoint_trial,
    dry_run,
    influence_trial,
    trainer_run,
)
from ftlab.session.preflight.checkpoint_trial import CheckpointTrial
from ftlab.session.preflight.failing import Failure
from ftlab.session.preflight.influence_trial import Influence
from ftlab.session.preflight.kept import KeptState
from ftlab.session.preflight.seen import Seen

Step = Callable[[Any], Any]

LOW = (torch.bfloat16, torch.float16)
"""Precisions that autocast computes in."""


def try_steps(seen: Seen, kept: KeptState) -> None:
    """Make the dry steps, or read the facts alone; fill what was seen of them."""
    # a step trains, also where preflight is called among evaluation
    with torch.inference_mode(mode=False), torch.enable_grad():
        _attempt(seen)
        _eased(seen, kept)
        trained = any(each.requires_grad for each in seen.model.parameters())
        if trained and seen.dry.losses and checkpoint_trial.recomputes(seen.dry.run):
            seen.trial = _compared(seen, kept)
        if trained and seen.dry.losses:
            seen.influences = _influences(seen, kept)


def _attempt(seen: Seen, precision: torch.dtype | None = None) -> None:
    subject, step = _subject(seen), None
    if not seen.dry.why_not:
        step = _step_of(seen, subject)
    if step is not None and precision is not None:
        step = _under(step, seen, precision)
    batches = itertools.islice(itertools.cycle(seen.batches), _count(seen, step))
    dry_run.run_dry(seen.dry, subject, step, [_copied(each) for each in batches])


def _count(seen: Seen, step: Step | None) -> int:
    """Return how many steps are tried: one more where a loop steps a schedule itself.

    That calls stand in a wrong order is told from the third time on.
    """
    batches = len(seen.batches)
    ordered = seen.given.step is not None and bool(seen.given.schedulers)
    if step is None or batches < dry_run.STEPS:
        return batches if step else 0
    return dry_run.STEPS + ordered


def _under(step: Step, seen: Seen, precision: torch.dtype) -> Step:
    def eased(batch: Any) -> Any:
        with dry_run.autocast(seen.model, precision):
            return step(batch)

    return eased


def _eased(seen: Seen, kept: KeptState) -> None:
    """Try again under autocast where two precisions met; keep it if it comes through.

    A trainer's step has the autocast that its arguments ask for: there this proves what
    another argument would do.
    """
    failed = seen.dry
    precision = None if failed.failure is None else precision_for(failed.failure)
    if precision is None or failed.losses:
        return
    kept.restore()
    seen.dry = dry_run.DryRun()
    _attempt(seen, precision)
    if seen.dry.losses:
        seen.eased = failed.failure
        return
    kept.restore()
    seen.dry = failed


def precision_for(failure: Failure) -> torch.dtype | None:
    """Return the lower of two precisions that met where forward failed, or ``None``.

    Examples
    --------
    >>> from ftlab.session.preflight.failing import Failure
    >>> from ftlab.session.preflight.trying import precision_for
    >>> error = RuntimeError("expected m1 and m2 to have the same dtype")
    >>> precision_for(Failure(error, "forward", "head", ("float32",), ("bfloat16",)))
    torch.bfloat16
    >>> precision_for(Failure(error, "forward", "head", ("float32",), ("float32",)))
    """
    met = [dtype for dtype in LOW if str(dtype).endswith(failure.dtypes)]
    return met[0] if failure.phase == "forward" and met and _mixed(failure) else None


def _mixed(failure: Failure) -> bool:
    return len(failure.dtypes) > 1


def _compared(seen: Seen, kept: KeptState) -> CheckpointTrial:
    """Compare gradients with and without checkpointing, from one state."""
    trained = [p for p in seen.model.parameters() if p.requires_grad]
    if 4 * sum(each.nbytes for each in trained) > room_beside(seen.model):
        return CheckpointTrial(why_not="there is no room for copies of all gradients")
    run = functools.partial(_gradients, seen, kept)
    once, _ = run()
    with checkpoint_trial.without():
        plain, again = run()
    if again:
        return CheckpointTrial(
            why_not="modules still ran twice: this is not torch's own checkpointing"
        )
    found = checkpoint_trial.compared(once, plain, {})
    return checkpoint_trial.compared(once, plain, run()[0]) if found.apart else found


def _influences(seen: Seen, kept: KeptState) -> tuple[Influence, ...]:
    """Change what got no gradient, and see whether the loss changes."""
    weights = {e.name: e.parameter for e in named_parameters(seen.model)}

    def loss(tensors: Sequence[torch.Tensor]) -> float:
        step = _again(seen, kept)
        influence_trial.add_noise(tensors)
        return dry_run.number(None if step is None else step())

    found = influence_trial.suspects(seen.dry.run)
    return tuple(influence_trial.influences(found, weights, loss))


def _gradients(seen: Seen, kept: KeptState) -> tuple[checkpoint_trial.Gradients, bool]:
    step = _again(seen, kept)
    if step is None:
        return {}, False
    return checkpoint_trial.gradients_of(seen.model, seen.optimizers, step)


def _again(seen: Seen, kept: KeptState) -> Callable[[], Any] | None:
    """Put everything back, and return the first step as it was made."""
    kept.restore()
    subject = _subject(seen)
    step = _step_of(seen, subject)
    if step is None:
        return None
    if seen.eased is not None and (precision := precision_for(seen.eased)) is not None:
        step = _under(step, seen, precision)
    return functools.partial(step, _copied(seen.batches[0]))


def _copied(batch: Any) -> Any:
    """Copy what holds a batch's tensors: steps take out what they have used."""
    return copy.copy(batch) if isinstance(batch, Mapping | list) else batch


def _subject(seen: Seen) -> Subject:
    given = seen.given
    if given.trainer is not None:
        subject = trainer_subject(given.trainer)
        seen.steps = trainer_run.planned_steps(given.trainer)
        subject.training |= {"max_steps": seen.steps, "loader": _loader(given.trainer)}
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


def _loader(trainer: Any) -> dict[str, Any]:
    found = readable(loader=lambda: loader_facts(trainer.get_train_dataloader()))
    return dict(found.get("loader", {}))


def _number(args: Any, name: str) -> int:
    read = args.get if isinstance(args, Mapping) else lambda key: getattr(args, key, 0)
    value = read(name) if args is not None else 0
    return value if isinstance(value, int) else 0


def _step_of(seen: Seen, subject: Subject) -> Step | None:
    given = seen.given
    if given.trainer is not None:
        return _trainer_step(seen, subject)
    if given.step is not None:
        return given.step
    if not any(each.requires_grad for each in given.model.parameters()):
        return dry_run.forward_only(given.model)
    if seen.given.optimizers:
        return dry_run.plain_step(given, given.optimizers)
    seen.stood_in = True
    return dry_run.plain_step(given, dry_run.stand_in(given.model))


def _trainer_step(seen: Seen, subject: Subject) -> Step | None:
    trainer, dry = seen.given.trainer, seen.dry
    dry.why_not = trainer_run.why_not(trainer)
    if dry.why_not:
        return None
    try:
        model = trainer_run.prepare(trainer, seen.steps)
    except Exception as error:  # noqa: BLE001  told as the item that failed
        dry.failure = Failure(error, "preparation")
        return None
    seen.optimizers, seen.schedulers = (trainer.optimizer,), (trainer.lr_scheduler,)
    made = trainer_subject(trainer)
    subject.optimizers = made.optimizers
    subject.schedulers = made.schedulers
    subject.scaler = made.scaler
    subject.training["made"] = made.training["made"]
    return trainer_run.trainer_step(trainer, model)
