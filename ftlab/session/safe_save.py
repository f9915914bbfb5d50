"""`ftlab.safe_save` and `ftlab.safe_load`: checkpoints that survive a killed process.

The folder holds the model or adapter as ``save_pretrained`` writes it, everything else
in ``state.safetensors``, and ``checkpoint.json`` with digests. Nothing is pickled.
"""

import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ftlab.records.errors import BadValueError, CheckpointError, FtlabWarning
from ftlab.records.event import Event
from ftlab.records.plain_files import path_of
from ftlab.replay.checkpoints.contents import gather, unhealthy
from ftlab.replay.checkpoints.folder import (
    Stored,
    copy_checkpoint,
    free_name,
    keep_last,
    write_checkpoint,
)
from ftlab.replay.checkpoints.lacking import ARGUMENTS, TRAINER_STATE
from ftlab.runlog.folder import process_rank, versions
from ftlab.session.live_training import Training, state_of, training_of
from ftlab.session.saved_checkpoint import SavedCheckpoint, opened


def safe_save(
    target: Any,
    folder: str | Path,
    *,
    second: str | Path | None = None,
    step: int | None = None,
    keep: int | None = None,
    **parts: Any,
) -> SavedCheckpoint | None:
    """Save a checkpoint that is whole or not there, whenever the process is killed.

    It is written under a temporary name, brought to the disk, read back and compared
    with what the live objects hold, and only then renamed to ``checkpoint-<step>``.
    Nothing of the training changes, no random number is drawn, nothing is pickled.
    Weights that are frozen beside an adapter are not written, nor gradients: save
    between two steps, not between two micro-batches of one.

    Parameters
    ----------
    target
        The model or a ``transformers.Trainer``; of a trainer everything is known.
    folder, second
        Where ``checkpoint-<step>`` is put, and where a copy, better on another disk.
    step
        How many steps were made; by default what trainer, watch or optimizer say.
    keep
        Remove older checkpoints, all but so many; by default none.
    parts
        Of a hand-written loop ``optimizer=``, ``scheduler=`` (one or several) and
        ``scaler=``, where no watch has seen them; and ``extra=``, what your loop counts
        besides: ``{"epoch": 2, "batch": 40}``, a loader's ``state_dict()``.

    Returns
    -------
    SavedCheckpoint
        Shows what an exact resume would lack; ``None`` in ranks other than 0.

    Raises
    ------
    CheckpointError
        It cannot be written; what was there before is as it was.
    AttachError, BadValueError
        The model is none or in shards, or a value is none that JSON and tensors hold.

    Examples
    --------
    >>> import tempfile, torch, ftlab
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.AdamW(model.parameters())
    >>> model(torch.ones(1, 2)).sum().backward()
    >>> optimizer.step()
    >>> folder = tempfile.mkdtemp()
    >>> saved = ftlab.safe_save(model, folder, optimizer=optimizer)
    >>> saved.path.name, saved.lacks[:2]
    ('checkpoint-1', ('schedule', 'tokenizer'))
    >>> _ = model.weight.data.zero_()
    >>> saved.differences(model, optimizer=optimizer)
    ('weights:weight',)
    >>> _ = ftlab.safe_load(folder, model, optimizer=optimizer)
    >>> saved.differences(model, optimizer=optimizer)
    ()
    """
    root = path_of(folder, "folder", "safe_save(model, 'checkpoints')")
    other = None if second is None else path_of(second, "second", "second='/mnt/b'")
    if keep is not None and (type(keep) is not int or keep < 1):
        msg = f"keep={keep!r}: it is a number of checkpoints, 1 or more."
        raise BadValueError(msg)
    training = training_of(target, "safe_save", **parts)
    training = training if step is None else replace(training, steps=step)
    return save(training, root, other, keep)


def save(
    training: Training,
    root: Path,
    second: Path | None,
    keep: int | None,
    *,
    bad: bool = True,
) -> SavedCheckpoint | None:
    """Save what was collected; ``bad``: also where not all is finite."""
    began = time.monotonic()
    with torch.no_grad():
        entries, tensors = gather(training.live)
        why = training.trouble or unhealthy(entries, tensors)
    if process_rank() or (why and not bad):
        return None
    args = getattr(training.trainer, "args", None)
    entries |= {"step": training.steps, "why": why, "versions": versions()}
    entries["gradients"] = training.pending
    entries["workers"] = getattr(args, "dataloader_num_workers", None)
    folder, saved = free_name(root, training.steps), False
    try:
        write_checkpoint(folder, entries, tensors, partial(_write_model, training))
        saved = True
    finally:
        told = {"saved": saved, "seconds": time.monotonic() - began}
        words = f"checkpoint {folder.name} {'saved' if saved else 'not saved'}"
        tell(training, words, told | {"path": str(folder)})
    try:
        if second is not None:
            copy_checkpoint(folder, second / folder.name)
        for each in (root, second or root) if keep else ():
            keep_last(each, keep or 1)
    except (CheckpointError, OSError) as error:
        warnings.warn(f"{folder} is saved; but {error}", FtlabWarning, stacklevel=3)
    return SavedCheckpoint(folder, Stored(folder))


def _write_model(training: Training, part: Path) -> None:
    for each in (training.live.model, training.tokenizer):
        if callable(own := getattr(each, "save_pretrained", None)):
            own(part)
    if training.trainer is not None:
        state_of(training.trainer).save_to_json(str(part / TRAINER_STATE))
        arguments = training.trainer.args.to_json_string()
        (part / ARGUMENTS).write_text(arguments, encoding="utf-8")


def tell(training: Training, words: str, detail: dict[str, Any]) -> None:
    """Make it an event of the run, if the model is watched."""
    if training.seen is not None:
        step = max(training.steps - 1, 0)
        event = Event("checkpoint", step, time.time(), words, detail)
        training.seen.background.put(event)


def safe_load(
    folder: str | Path,
    target: Any = None,
    *,
    second: str | Path | None = None,
    **parts: Any,
) -> SavedCheckpoint:
    """Open a checkpoint, read every byte of it, and put it into live objects.

    Parameters
    ----------
    folder, second
        What ``safe_save`` was given: the last one that is good and whole is taken, and
        one warning names what newer ones have. Or one checkpoint, or one that a Trainer
        has written, for what it lacks: without digests, its files are whole as far as
        headers and checksums in them tell.
    target, parts
        What `SavedCheckpoint.restore` is to put back; without it nothing is changed. A
        Trainer goes on with ``safe_load(folder).resume(trainer)``.

    Raises
    ------
    CheckpointError
        There is none, or a file of it is damaged; the message names it.
    AttachError
        The model or an optimizer is not the one that was saved.

    Examples
    --------
    >>> import ftlab
    >>> ftlab.safe_load("no/such/folder")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.CheckpointError: 'no/such/folder' holds no checkpoint; ...
    """
    path = path_of(folder, "folder", "safe_load('checkpoints')")
    other = None if second is None else path_of(second, "second", "second='/mnt/b'")
    found = opened(path, other)
    if target is not None:
        found.restore(target, **parts)
    return found
