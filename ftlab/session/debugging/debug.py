"""`ftlab.debug`: stop a live run where its numbers break, before the weights change.

The engine takes any step function; what is special to trainers is in
`ftlab.session.integrations.trainer_step`. What comes back is a `Debugger`.
"""

import functools
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from ftlab.probes.tokenizers.tokenizer_watch import TokenizerWatch
from ftlab.records.errors import AttachError, BadValueError, NotReplayableError
from ftlab.records.unbroken import take
from ftlab.replay.engine import Engine
from ftlab.replay.stops.spans import Decode
from ftlab.replay.wishes import MEMORY_BUDGET, Policy, Wishes
from ftlab.replay.worker import Worker
from ftlab.rules.words import an
from ftlab.session.debugging.debugger import Debugger
from ftlab.session.host import host
from ftlab.session.integrations.trainer_step import (
    TrainerStep,
    refuse_trainer,
    warn_unpaused,
)
from ftlab.session.integrations.transformers import is_trainer

_LAZY = (
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
)


def debug(
    target: Any,
    batches: Iterable[Any] | None = None,
    *,
    model: torch.nn.Module | None = None,
    optimizer: Any = None,
    tokenizer: Any = None,
    processing_class: Any = None,
    on_pause: Policy | None = None,
    memory_budget: int = MEMORY_BUDGET,
) -> Debugger:
    """Prepare a run that stops at the first non-finite loss or gradient.

    Parameters
    ----------
    target
        A transformers Trainer (TRL's too: `ftlab.session.integrations.trainer_step` has
        a table of those that were tested), or a function that is called with each batch
        and does one step: forward and backward, with or without ``optimizer.step()``.
        When the step goes wrong it is called again with the same batch, so what else it
        does (appending to a list) happens again too.
    batches
        What the function is called with, one after the other.
    model, optimizer
        What the function trains, and with what.
    tokenizer, processing_class
        Shows tokens as text; a trainer's own is found.
    on_pause
        Decides at each stop without a person: gets the `PauseReport`, returns
        ``"resume"``, ``"abort"``, ``"step module"``... or ``None`` to resume.
    memory_budget
        Bytes that copies of the trained weights and of the optimizer's state may take,
        so that an optimizer's step can run again; about three times the trained weights
        under Adam. Beyond it a step that goes wrong is found, but not the operation.

    Returns
    -------
    Debugger
        Call ``run()`` on it.

    Examples
    --------
    >>> import torch
    >>> from ftlab.session.debugging.debug import debug
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> def step(batch):
    ...     optimizer.zero_grad()
    ...     loss = model(batch).log().sum()
    ...     loss.backward()
    ...     optimizer.step()
    >>> _ = torch.nn.init.ones_(model.weight)
    >>> batches = [torch.full((1, 2), -9.0)]
    >>> with debug(step, batches, model=model, optimizer=optimizer) as dbg:
    ...     report = dbg.run()
    >>> report.op, report.kind, report.what
    ('aten.log.default', 'outside modules', 'nan')

    A function alone says not what it trains:

    >>> debug(step, [])
    Traceback (most recent call last):
    ...
    ftlab.records.errors.AttachError: debug(step, batches) needs model=, the \
torch.nn.Module that the step trains; it was None.
    """
    wishes = Wishes(on_pause, memory_budget)
    if is_trainer(target):
        if batches is not None or model is not None or optimizer is not None:
            msg = (
                "debug(trainer) finds batches, model and optimizer itself; pass only "
                "the trainer, and arguments of train() to run()."
            )
            raise BadValueError(msg)
        tokenizer = tokenizer or processing_class
        return _debug_trainer(target, tokenizer, wishes)
    trained = _check_step(target, batches, model)
    known = tokenizer or processing_class
    wishes.responses.digest = TokenizerWatch(known)
    optimizers = check_optimizers(optimizer)
    worker = Worker(host)
    engine = Engine(
        lambda: trained,
        worker,
        wishes=wishes,
        optimizers=optimizers,
        decode=decoder(known),
    )
    guarded = engine.guard(target)

    def train() -> list[Any]:
        _check_batches(batches, debugger.runs)
        # Results are kept detached: a graph for each batch would fill the memory.
        return [_detached(guarded(batch)) for batch in batches or ()]

    debugger = Debugger(train, engine, worker, name=_name(target))
    return debugger


def _debug_trainer(trainer: Any, tokenizer: Any, wishes: Wishes) -> Debugger:
    refuse_trainer(trainer)
    tokenizer = tokenizer or getattr(trainer, "processing_class", None)
    wishes.responses.digest = TokenizerWatch(tokenizer)
    worker = Worker(host)
    engine = Engine(
        lambda: trainer.model,
        worker,
        owner=trainer,
        step_number=lambda: trainer.state.global_step,
        wishes=wishes,
        decode=decoder(tokenizer),
    )
    link = TrainerStep(trainer, engine.guard, lambda: _debugged(worker), warn_unpaused)
    make = functools.partial(
        Debugger,
        lambda **kw: trainer.train(**kw),
        engine,
        worker,
        link.install,
        name=f"{type(trainer).__name__}.train()",
    )
    return take(make, Debugger.close)


def decoder(tokenizer: Any) -> Decode | None:
    """Return what turns ids into text; a processor has its tokenizer within."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    decode: Decode | None = getattr(inner, "decode", None)
    return decode


def _debugged(worker: Worker) -> bool:
    """Say whether the calling thread is that of any debugger's run."""
    active = Debugger.active()
    return worker.current or (active is not None and active.training_here)


def _name(step: Any) -> str:
    return f"{getattr(step, '__qualname__', type(step).__name__)}()"


def _check_step(target: Any, batches: Any, model: Any) -> torch.nn.Module:
    if not callable(target) or isinstance(target, torch.nn.Module):
        msg = (
            f"debug() was given {an(type(target).__name__)}; pass a transformers."
            "Trainer or a function that does one training step: "
            "debug(step, batches, model=model)."
        )
        raise AttachError(msg)
    called = target if inspect.isroutine(target) else target.__call__
    if any(lazy(called) for lazy in _LAZY):
        msg = (
            f"{_name(target)} is an async function or a generator function: calling it "
            "executes nothing. Pass a plain function, one that uses asyncio.run(...) "
            "for example."
        )
        raise AttachError(msg)
    if not isinstance(model, torch.nn.Module):
        msg = (
            "debug(step, batches) needs model=, the torch.nn.Module that the step "
            f"trains; it was {model!r}."
        )
        raise AttachError(msg)
    if not isinstance(batches, Iterable):
        msg = (
            "debug(step, batches) needs batches, an iterable that the step is called "
            f"with; it was {batches!r}."
        )
        raise AttachError(msg)
    return model


def _check_batches(batches: Any, runs: int) -> None:
    if runs > 1 and isinstance(batches, Iterator):
        msg = (
            f"batches is a {type(batches).__name__}, which the first run has "
            "exhausted; pass a list or a DataLoader to debug() to run more than once."
        )
        raise BadValueError(msg)


def check_optimizers(optimizer: Any) -> list[torch.optim.Optimizer]:
    """Return the optimizers of a step; refuse those that nothing can stop."""
    given = optimizer if isinstance(optimizer, list | tuple) else [optimizer]
    # accelerate wraps optimizers
    inners: list[Any] = [getattr(e, "optimizer", e) for e in given if e is not None]
    for inner in inners:
        if not isinstance(inner, torch.optim.Optimizer):
            msg = (
                f"optimizer={type(inner).__name__} is not a torch.optim.Optimizer, so "
                "it is not known when it is about to change the weights. Leave it out "
                "of the step: let the step end with backward."
            )
            raise AttachError(msg)
        if isinstance(inner, torch.optim.LBFGS):
            msg = (
                "LBFGS changes the weights between calls of its closure, where it "
                "cannot be stopped. Use ftlab.watch for it, or a different optimizer."
            )
            raise NotReplayableError(msg)
    return inners


def _detached(result: Any) -> Any:
    return tree_map_only(torch.Tensor, torch.Tensor.detach, result)
