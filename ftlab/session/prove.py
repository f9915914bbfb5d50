"""`ftlab.prove`: relations that must hold, tried on copies of a live step."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from ftlab.executions.side import undisturbed
from ftlab.experiments.live import Live
from ftlab.experiments.registry import all_experiments, named
from ftlab.records.errors import BadValueError
from ftlab.rules.words import an
from ftlab.session.arguments import several, watchable
from ftlab.session.given_models import on_device
from ftlab.session.integrations.transformers import is_trainer
from ftlab.session.observation import observation_of
from ftlab.session.preflight.dry_run import loss_of
from ftlab.session.preflight.given import Given
from ftlab.session.preflight.kept import Kept, KeptState
from ftlab.session.preflight.reading import first_batches, sources
from ftlab.session.preflight.trainer_run import owners_of
from ftlab.session.trials import all_tried
from ftlab.views.executions.proof import ProofView

Loss = Callable[[Any, Mapping[str, Any]], torch.Tensor]


def prove(
    target: Any = None,
    *,
    model: torch.nn.Module | None = None,
    optimizer: Any = None,
    loss: Loss | None = None,
    batch: Any = None,
    batches: Any = None,
    tokenizer: Any = None,
    only: str | Iterable[str] | None = None,
) -> ProofView:
    """Try what must hold in every right set-up, and say what does not.

    Each experiment executes a step twice in two ways that must come out equal: a row
    alone and in its batch, saved and loaded, merged and not. Where they part by more
    than rounding, the first module and operation is named. Training goes on afterwards
    as if nothing had been: weights, optimizer, gradients, buffers, random state and
    the trainer's own state are bit for bit what they were. An interrupt (the stop
    button) ends it and keeps what is known by then. Where the model is watched, the
    findings are among those of its run.

    Parameters
    ----------
    target
        A ``transformers.Trainer`` (or what derives from it), or the model.
    model, optimizer
        Those of a hand-written loop.
    loss
        ``loss(model, batch)`` of a hand-written loop; without it the model's own.
    batch, batches
        Keyword arguments of the model, or a DataLoader or list of them, of which the
        first are taken. A DataLoader is not iterated. By default a trainer's first.
    tokenizer
        That of the model.
    only
        Codes or names of experiments: ``["row-alone", "EXP012"]``. ``"two-processes"``
        is tried only where it is named.

    Returns
    -------
    ProofView
        A sequence of outcomes, ``ok`` when nothing is broken, and ``findings``.

    Raises
    ------
    BadValueError
        Something else was passed, or there is no batch.

    Examples
    --------
    >>> import torch, ftlab
    >>> model = torch.nn.Linear(2, 1)
    >>> proof = ftlab.prove(model, batch={"input": torch.ones(3, 2)}, only="row-alone")
    >>> proof[0].state, proof[0].says
    ('does not apply', 'the batch has no input_ids of shape (rows, positions)')
    """
    chosen = named(all_experiments(), only, "experiment")
    given, live_of = _given(
        target, model, optimizer, loss, _source(batch, batches), tokenizer
    )
    kept = KeptState(used_by(given))
    try:
        live, doing = callable_with(live_of()), ("proving", "experiments")
        outcomes = all_tried(chosen, live, doing=doing, after=kept.restore)
    finally:
        kept.restore()
    name = type(given.model if given.trainer is None else given.trainer).__name__
    proof = ProofView(outcomes, title=f"Proof of {name}")
    _tell(proof, given.model)
    return proof


def _tell(proof: ProofView, model: Any) -> None:
    """Hand the findings to the run in which the model is watched, if it is."""
    watched = observation_of(model)
    if watched is None:
        return
    step = max(watched.run.last_step, 0)
    for each in proof.findings:
        watched.background.put(replace(each, first_step=step, last_step=step))


def callable_with(live: Live) -> Live:
    """Return ``live`` with a batch that its model can be called with.

    A loss may make the model's arguments of the batch, as those of preferences do: what
    it first calls the model with is taken then.

    Raises
    ------
    BadValueError
        The model cannot be called with the batch, nor does the loss call it.
    """
    try:
        with undisturbed(live.side()):
            live.side().call()
    except Exception as error:
        found = _called_with(live)
        if found is None:
            msg = (
                f"{type(live.model).__name__} cannot be called with the batch "
                f"({type(error).__name__}: {error}). Pass what it is called with as "
                "batch=, and the loop's loss(model, batch) as loss=."
            )
            raise BadValueError(msg) from error
        return replace(live, batch=found, loss=None)
    return live


def _called_with(live: Live) -> Mapping[str, Any] | None:
    """Return what the loss first calls the model with, if that is by keyword."""
    calls: list[tuple[Any, dict[str, Any]]] = []

    def note(_module: Any, args: Any, kwargs: dict[str, Any], _output: Any) -> None:
        calls.append((args, dict(kwargs)))

    handle = live.model.register_forward_hook(note, with_kwargs=True)
    try:
        with undisturbed(live.side()):
            live.computed()
    except Exception:  # noqa: BLE001  the caller says why the model cannot be called
        pass
    finally:
        handle.remove()
    return calls[0][1] if calls and not calls[0][0] else None


def used_by(given: Given) -> Kept:
    """Return what trying may change of what was given."""
    trainer = given.trainer
    owners = sources(given) + (owners_of(trainer) if trainer is not None else [])
    scaler = getattr(getattr(trainer, "accelerator", None), "scaler", None)
    schedule = getattr(trainer, "lr_scheduler", None)
    schedules = () if schedule is None else (schedule,)
    return Kept(given.model, given.optimizers, schedules, scaler, owners=owners)


def _given(
    target: Any, model: Any, optimizer: Any, loss: Any, batches: Any, tokenizer: Any
) -> tuple[Given, Callable[[], Live]]:
    if is_trainer(target):
        return of_trainer(target, batches, tokenizer)
    chosen = target if target is not None else model
    if not isinstance(chosen, torch.nn.Module):
        msg = (
            f"prove() was given {an(type(chosen).__name__)}; pass a trainer, or "
            "prove(model=model, optimizer=optimizer, batch=batch)."
        )
        raise BadValueError(msg)
    if batches is None:
        msg = (
            "prove() has no batch; pass one that the model is called with: "
            "prove(model=model, batch=next(iter(loader)))."
        )
        raise BadValueError(msg)
    watchable(chosen, "prove")
    optimizers = tuple(several(optimizer, "step", "optimizer"))
    given = Given(chosen, optimizers, batches=batches)

    def computed(each: Mapping[str, Any], called: Any = chosen) -> torch.Tensor:
        return loss_of(called(**each)) if loss is None else loss(called, each)

    return given, lambda: Live(
        chosen,
        _first(given, chosen),
        computed,
        optimizers=optimizers,
        tokenizer=tokenizer,
    )


def _source(batch: Any, batches: Any) -> Any:
    """Return what batches come from: a list of the one, a loader, or nothing."""
    if batch is not None and batches is not None:
        msg = "prove() was given batch= and batches=; pass the one that training uses."
        raise BadValueError(msg)
    if isinstance(batches, Iterator):
        msg = (
            f"batches is {an(type(batches).__name__)}, which prove would exhaust; pass "
            "the DataLoader, a list, or one as batch=."
        )
        raise BadValueError(msg)
    return batches if batch is None else [batch]


def _first(given: Given, model: torch.nn.Module) -> Mapping[str, Any]:
    batches = first_batches(given, 1)
    if not batches:
        msg = (
            "there is no batch: the trainer has no train_dataset, or batches= is "
            "empty. Pass batch=, a dictionary of what the model is called with."
        )
        raise BadValueError(msg)
    return on_device(batches[0], model)


def of_trainer(
    trainer: Any, batches: Any, tokenizer: Any, caller: str = "prove"
) -> tuple[Given, Callable[[], Live]]:
    """Return what a trainer trains with, and what gives its live step."""
    given = Given(
        watchable(trainer.model, caller),
        tuple(several(trainer.optimizer, "step", "optimizer")),
        trainer=trainer,
        args=trainer.args,
        batches=batches,
        dataset=trainer.train_dataset,
        collator=trainer.data_collator,
        tokenizer=tokenizer or getattr(trainer, "processing_class", None),
    )

    def live() -> Live:
        arguments = _first(given, trainer.model)
        if trainer.optimizer is None:
            trainer.create_optimizer()
        steps = trainer.args.gradient_accumulation_steps
        trainer.current_gradient_accumulation_steps = steps  # train() says so

        def computed(each: Mapping[str, Any]) -> torch.Tensor:
            with trainer.compute_loss_context_manager():
                loss: torch.Tensor = trainer.compute_loss(
                    trainer.model,
                    dict(each),
                    num_items_in_batch=_items(trainer, each),
                )
            return loss

        return Live(
            trainer.model,
            arguments,
            computed,
            trainer.compute_loss_context_manager,
            (trainer.optimizer,),
            given.tokenizer,
            trainer,
        )

    return given, live


def _items(trainer: Any, batch: Mapping[str, Any]) -> Any:
    """Return what the trainer divides a step's loss by, ``None`` if it does not."""
    count = getattr(trainer, "_get_num_items_in_batch", None)
    return None if count is None else count([batch], trainer.args.device)
