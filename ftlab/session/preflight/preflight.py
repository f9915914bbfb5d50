"""`ftlab.preflight`: seven layers checked before a run, and nothing changed by it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ftlab.records.errors import BadValueError
from ftlab.session.preflight.dry_run import STEPS
from ftlab.session.preflight.given import Given, target_of
from ftlab.session.preflight.looking import look
from ftlab.session.preflight.relation_items import with_relations
from ftlab.views.findings.checklist import Checklist


def preflight(
    target: Any = None,
    *,
    model: torch.nn.Module | None = None,
    optimizer: Any = None,
    scheduler: Any = None,
    scaler: Any = None,
    batch: Any = None,
    batches: Any = None,
    dataset: Any = None,
    collator: Any = None,
    step: Callable[[Any], Any] | None = None,
    tokenizer: Any = None,
    args: Any = None,
    adapter: str | Path | None = None,
    trained_in: Any = None,
    dry_steps: int = STEPS,
    prove: bool = False,
) -> Checklist:
    """Check a fine-tune in seven layers before it begins.

    Data, model, optimizer, device, numerics, logging, rollback: each item passed,
    failed or could not be checked, with what was measured; some that passed are noted,
    because what comes next decides. Up to two training steps are tried, watched by the
    rules, and undone: weights, gradients, buffers, optimizer,
    scheduler and scaler state, random numbers, modes and the trainer's own state are
    bit for bit what they were.

    Parameters
    ----------
    target
        A ``transformers.Trainer`` (or what derives from it), or the model.
    model, optimizer, scheduler, scaler
        The objects of a hand-written loop; several optimizers or schedulers as a list.
    batch, batches
        One batch, or a DataLoader or list of them. A DataLoader is not iterated.
    dataset, collator
        In place of batches: rows, and what joins them.
    step
        The body of your loop, ``step(batch) -> loss``, with its own zero_grad, backward
        and optimizer step. Without it the model must return a loss.
    tokenizer
        Its size is compared with the embedding.
    args
        ``TrainingArguments`` or anything alike, for logging and checkpoints.
    adapter
        The folder that the model's adapter was loaded from.
    trained_in
        The run, or its folder, in which that adapter was trained.
    dry_steps
        How many steps are tried: 0, 1 or 2. With 2, a loop's own ``step`` that moves a
        ``scheduler`` is tried a third time, for the order of its calls.
    prove
        Try what must hold in every right set-up too, as far as it costs a few forwards:
        `ftlab.prove` tries all of it.

    Returns
    -------
    Checklist
        A view, and a sequence of items; true when nothing failed is `Checklist.ok`.

    Raises
    ------
    AttachError
        There is no model, it has no parameters, or it is being watched.
    BadValueError
        An argument has a value that is not allowed, or contradicts another one.

    Notes
    -----
    What a step does outside of the objects that it is known to use (a file that it
    writes, a list that it appends to) is not undone. Frozen weights are copied while
    they are small together (256 MiB); if a step writes to larger ones, a warning names
    them. A trainer's callbacks are not called, and with ``torch_compile`` its model is
    tried uncompiled.

    Where a forward fails because two precisions meet, the steps are tried once more
    under autocast, and the item says whether that helps. Under gradient checkpointing
    one step is made with and one without it, from the same state, and their gradients
    are compared.

    Examples
    --------
    >>> import torch, ftlab
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> def step(batch):
    ...     optimizer.zero_grad()
    ...     loss = model(batch).pow(2).mean()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> checklist = ftlab.preflight(
    ...     model, optimizer=optimizer, step=step, batch=torch.ones(4, 2)
    ... )
    >>> checklist.ok, checklist["data"][-1].says
    (True, 'the first batch holds float32[4, 2]')
    >>> ftlab.preflight(model, batches=(row for row in [1, 2]))
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: batches=a generator, which preflight would \
exhaust: its items cannot be read again. Pass the DataLoader, or a list.
    """
    given = target_of(
        target,
        {
            "model": model,
            "optimizer": optimizer,
            "scheduler": scheduler,
            "scaler": scaler,
            "batch": batch,
            "batches": batches,
            "dataset": dataset,
            "collator": collator,
            "step": step,
            "tokenizer": tokenizer,
            "args": args,
            "adapter": adapter,
            "trained_in": trained_in,
        },
    )
    if dry_steps not in range(STEPS + 1):
        msg = f"dry_steps={dry_steps!r}; allowed are 0, 1 and 2."
        raise BadValueError(msg)
    items = look(given, dry_steps)
    if prove:
        items = with_relations(items, given)
    return Checklist(items, title=f"Preflight of {_name(given)}")


def _name(given: Given) -> str:
    return type(given.model if given.trainer is None else given.trainer).__name__
