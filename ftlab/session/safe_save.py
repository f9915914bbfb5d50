"""`ftlab.safe_save` and `ftlab.safe_load`: checkpoints that survive a killed process.

The folder holds the model or adapter as ``save_pretrained`` writes it, everything else
in ``state.safetensors``, and ``checkpoint.json`` with digests. Nothing is pickled.
"""

import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ftlab._version import __version__
from ftlab.records.errors import (
    BadValueError,
    CheckpointError,
    FtlabWarning,
)
from ftlab.records.event import Event
from ftlab.records.plain_files import path_of
from ftlab.replay.checkpoints.contents import (
    gather,
    unhealthy,
)
from ftlab.replay.checkpoints.manifest import Stored
from ftlab.replay.checkpoints.writing import (
    copy_checkpoint,
    free_name,
    keep_last,
    write_checkpoint,
)
from ftlab.runlog.folder import process_rank, versions
from ftlab.session.live_training import Training, training_of
from ftlab.session.saved_checkpoint import SavedCheckpoint, opened

EXAMPLE = "safe_save(model, 'checkpoints')"


def safe_save(
    target: Any,
    folder: str | Path,
    *,
    optimizer: Any = None,
    scheduler: Any = None,
    scaler: Any = None,
    loader: Any = None,
    extra: Mapping[str, Any] | None = None,
    step: int | None = None,
    keep: int | None = None,
    second: str | Path | None = None,
) -> SavedCheckpoint | None:
    """Save a checkpoint that is whole or not there, whenever the process is killed.

    It is written under a temporary name, brought to the disk, read back and compared
    with what the live objects hold, and only then renamed to ``checkpoint-<step>``.
    Nothing of the training changes, no random number is drawn, nothing is pickled.

    Parameters
    ----------
    target
        The model or a ``transformers.Trainer``; of a trainer everything is known.
    folder
        Where ``checkpoint-<step>`` is put.
    optimizer, scheduler, scaler
        Those of a hand-written loop, one or several; what a watch of the model has seen
        need not be passed.
    loader
        What feeds the loop; its ``state_dict`` is kept, if it has one (torchdata).
    extra
        What else your loop counts, such as ``{"epoch": 2, "batch": 40}``: numbers,
        texts, tensors, and lists and dictionaries of them.
    step
        How many steps were made; by default what trainer, watch or optimizer say.
    keep
        Remove older checkpoints, all but so many; by default none.
    second
        Another folder, better on another disk, for a second copy.

    Returns
    -------
    SavedCheckpoint
        Shows what an exact resume would lack; ``None`` in processes of other ranks
        than 0, which write nothing.

    Raises
    ------
    CheckpointError
        It cannot be written; what was there before is as it was.
    AttachError
        The model is none, or in shards (FSDP, DeepSpeed).
    BadValueError
        A value cannot be saved without executing code when it is loaded.

    Notes
    -----
    Weights that are frozen beside an adapter are not written: load the same base. Where
    the model is watched, a save is an event of its run.

    Examples
    --------
    >>> import tempfile, torch, ftlab
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.AdamW(model.parameters())
    >>> model(torch.ones(1, 2)).sum().backward()
    >>> optimizer.step()
    >>> folder = tempfile.mkdtemp()
    >>> saved = ftlab.safe_save(model, folder, optimizer=optimizer, extra={"epoch": 0})
    >>> saved.path.name, [each.name for each in saved.lacks]
    ('checkpoint-1', ['schedule', 'tokenizer'])
    >>> _ = model.weight.data.zero_()
    >>> saved.differences(model, optimizer=optimizer)
    ('weights:weight',)
    >>> _ = ftlab.safe_load(folder, model, optimizer=optimizer)
    >>> saved.differences(model, optimizer=optimizer)
    ()
    """
    root = path_of(folder, "folder", EXAMPLE)
    given = {"optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
    training = training_of(
        target, **given, caller="safe_save", loader=loader, extra=extra
    )
    if keep is not None and (type(keep) is not int or keep < 1):
        msg = f"keep={keep!r}: it is a number of checkpoints, 1 or more."
        raise BadValueError(msg)
    other = None if second is None else path_of(second, "second", "second='/mnt/b'")
    steps = training.steps if step is None else step
    return save(replace(training, steps=steps), root, keep=keep, second=other)


def save(
    training: Training,
    root: Path,
    *,
    keep: int | None,
    second: Path | None,
    bad: bool = True,
) -> SavedCheckpoint | None:
    """Save what was collected, ``bad`` or only if all is finite; see `safe_save`."""
    if process_rank():
        return None
    began, steps = time.monotonic(), training.steps
    with torch.no_grad():
        gathered = gather(training.live)
        why = training.trouble or unhealthy(gathered, training.live.model)
    if why and not bad:
        return None
    folder = free_name(root, 0 if steps is None else steps)
    facts = {
        "ftlab": __version__,
        "versions": versions(),
        "model": type(training.live.model).__name__,
        "step": steps,
        "why": why,
        "workers": training.workers,
        "ranks": int(os.environ.get("WORLD_SIZE", "1")),
    }
    told = {"path": str(folder), "saved": False, "good": not why}
    try:
        write_checkpoint(folder, gathered, facts, training.write_model)
        told["saved"] = True
    finally:
        told["seconds"] = time.monotonic() - began
        _tell(training, told)
    if keep is not None:
        keep_last(root, keep)
    if second is not None:
        _save_second(folder, second, keep)
    return SavedCheckpoint(folder, Stored(folder))


def _tell(training: Training, told: dict[str, Any]) -> None:
    """Make the save an event of the run, if the model is watched."""
    if training.observation is not None:
        words = "saved" if told["saved"] else "not saved"
        message = f"checkpoint {Path(told['path']).name} {words}"
        step = max((training.steps or 0) - 1, 0)
        event = Event("checkpoint", step, time.time(), message, told)
        training.observation.background.put(event)


def _save_second(folder: Path, second: Path, keep: int | None) -> None:
    """Write the second copy; the first one is there if that fails."""
    try:
        copy_checkpoint(folder, second / folder.name)
        if keep is not None:
            keep_last(second, keep)
    except CheckpointError as error:
        warnings.warn(f"{folder} is saved; but {error}", FtlabWarning, stacklevel=3)


def safe_load(
    folder: str | Path,
    target: Any = None,
    *,
    optimizer: Any = None,
    scheduler: Any = None,
    scaler: Any = None,
    loader: Any = None,
    second: str | Path | None = None,
) -> SavedCheckpoint:
    """Open a checkpoint, read every byte of it, and put it into live objects.

    Parameters
    ----------
    folder
        Where ``safe_save`` has put checkpoints: the last one that is good and whole is
        taken, and one warning names what newer ones have. Or one of them. A checkpoint
        that a Trainer has written is opened too, for what it lacks.
    target
        The model or trainer to `SavedCheckpoint.restore`; without it nothing is
        changed. To go on with a Trainer: ``safe_load(folder).resume(trainer)``.
    optimizer, scheduler, scaler, loader
        Those of a hand-written loop.
    second
        The other folder that copies were saved to, for what is not whole here.

    Returns
    -------
    SavedCheckpoint
        ``lacks`` lists what an exact resume needs besides.

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
    ftlab.records.errors.CheckpointError: 'no/such/folder' is no folder; pass the one \
that safe_save was given: safe_load('checkpoints').
    """
    path = path_of(folder, "folder", "safe_load('checkpoints')")
    other = None if second is None else path_of(second, "second", "second='/mnt/b'")
    found = opened(path, other)
    if target is not None:
        given = {"optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        found.restore(target, **given, loader=loader)
    return found
