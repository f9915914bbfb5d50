"""Writes a checkpoint: under a temporary name, read back, and only then by its own.

Who calls whom: `ftlab.session.safe_save` says what is to be saved, and writes model,
tokenizer and trainer's state as these write themselves. What they leave out (optimizer,
generators, trained weights beside an adapter) goes into ``state.safetensors``: each
tensor that is not in their files already, bit for bit.
"""

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from ftlab.records.errors import CheckpointError
from ftlab.replay.checkpoints.contents import Gathered
from ftlab.replay.checkpoints.durable import (
    digest_of,
    files_in,
    part_of,
    publish,
    remove,
    sweep,
    sync,
    write,
)
from ftlab.replay.checkpoints.manifest import (
    MANIFEST,
    Stored,
    sealed,
    tensor_digest,
    tensors_in,
)
from ftlab.replay.snapshots.folder import write_tensors

STATE = "state.safetensors"
_NAME = re.compile(r"checkpoint-(\d+)(?:-\d+)?$")


def free_name(root: Path, step: int) -> Path:
    """Return ``root/checkpoint-12``, with a number behind it when that exists."""
    path, number = root / f"checkpoint-{step}", 2
    while path.exists():
        path, number = root / f"checkpoint-{step}-{number}", number + 1
    return path


def checkpoints_in(root: Path) -> list[Path]:
    """List the folders that are called checkpoints, in the order of their writing.

    Their numbers are no order: a second run in one folder begins to count anew.
    """
    found = [path for path in root.iterdir() if _NAME.match(path.name)]
    return sorted(filter(Path.is_dir, found), key=written_at)


def written_at(folder: Path) -> tuple[int, int]:
    """Return what sorts checkpoints by age, and where that is the same by number."""
    files = (each for name in (MANIFEST, STATE) if (each := folder / name).exists())
    number = _NAME.match(folder.name)
    age = next((each.stat().st_mtime_ns for each in files), 0)
    return age, int(number[1]) if number else -1


def write_checkpoint(
    folder: Path,
    gathered: Gathered,
    facts: Mapping[str, Any],
    write_model: Callable[[Path], None],
) -> None:
    """Write all of it, or nothing.

    Parameters
    ----------
    facts
        What else the manifest says.
    write_model
        Writes what is not ours into a folder.

    Raises
    ------
    CheckpointError
        It cannot be written, or not what was written is read back.
    """
    part = part_of(folder)
    with _whole(part, folder):
        sweep(folder.parent)
        part.mkdir(parents=True)
        write_model(part)
        sync(part)
        where = _write_state(part, gathered.tensors)
        files = {name: digest_of(part / name) for name in files_in(part)}
        manifest = {**facts, **gathered.entries, "tensors": where, "files": files}
        write(part / MANIFEST, sealed(manifest))
        sync(part)
        Stored(part).verify()
        publish(part, folder)


def copy_checkpoint(folder: Path, copy: Path) -> None:
    """Write a second one, which is read back as well.

    Raises
    ------
    CheckpointError
        It cannot be written, or not what was written is read back.
    """
    part = part_of(copy)
    with _whole(part, copy):
        copy.parent.mkdir(parents=True, exist_ok=True)
        sweep(copy.parent)
        shutil.copytree(folder, part)
        sync(part)
        Stored(part).verify()
        publish(part, copy)


def keep_last(root: Path, keep: int) -> None:
    """Remove all checkpoints of ours but the last ``keep``."""
    ours = [path for path in checkpoints_in(root) if (path / MANIFEST).exists()]
    for path in ours[:-keep]:
        remove(path)


def _write_state(
    part: Path, tensors: Mapping[str, torch.Tensor]
) -> dict[str, tuple[str, str, str]]:
    """Write the tensors that are in no file yet; return where each one is."""
    digests = {name: tensor_digest(each) for name, each in tensors.items()}
    wanted = set(digests.values())
    there: dict[str, tuple[str, str]] = {}
    for file in files_in(part):
        for key, tensor in tensors_in(part / file) if file.endswith("tensors") else ():
            digest = tensor_digest(tensor)
            if digest in wanted:
                there.setdefault(digest, (file, key))
    own: dict[str, torch.Tensor] = {}
    for name, digest in digests.items():
        if digest not in there:
            there[digest] = STATE, name
            own[name] = tensors[name]
    write_tensors(part / STATE, own)
    written = {key: tensor_digest(tensor) for key, tensor in tensors_in(part / STATE)}
    for name in own:
        if written.get(name) != digests[name]:
            msg = f"{name} was read back from {STATE} with other values"
            raise OSError(msg)
    return {name: (*there[digest], digest) for name, digest in digests.items()}


@contextlib.contextmanager
def _whole(part: Path, folder: Path) -> Iterator[None]:
    """Leave nothing behind where the block fails, and say why."""
    try:
        yield
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        if not isinstance(error, OSError | SafetensorError | CheckpointError):
            raise
        why = getattr(error, "strerror", None) or error
        msg = (
            f"The checkpoint {str(folder)!r} cannot be written: {why}. Those of before "
            "are left as they were. Free some space, or pass a folder on a different "
            "disk: safe_save(model, '...')."
        )
        raise CheckpointError(msg) from error
