"""Writes a checkpoint: under a temporary name, read back, and only then by its own.

`ftlab.session.safe_save` has model and tokenizer write themselves. Each tensor that is
in none of their files, bit for bit, goes into ``state.safetensors``.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import torch
from safetensors import SafetensorError

from ftlab.records.errors import CheckpointError
from ftlab.records.plain_files import is_folder
from ftlab.replay.checkpoints.contents import Gathered
from ftlab.replay.checkpoints.manifest import (
    MANIFEST,
    STATE,
    Stored,
    file_digest,
    sealed,
    tensor_digest,
    tensors_in,
)
from ftlab.replay.snapshots.folder import write_tensors

_NAME = re.compile(r"checkpoint-(\d+)(-\d+)?$")
_PART = re.compile(r"\..*\.(\d+)\.part$")


def free_name(root: Path, step: int) -> Path:
    """Return ``root/checkpoint-12``, with a number behind it when that exists."""
    path, number = root / f"checkpoint-{step}", 2
    while path.exists():
        path, number = root / f"checkpoint-{step}-{number}", number + 1
    return path


def checkpoints_in(*roots: Path) -> list[Path]:
    """List the checkpoints of ours, also damaged ones, in the order of their writing.

    Their numbers are no order: a second run in one folder begins to count anew.
    """
    found = [
        (file.stat().st_mtime_ns, at, path)
        for at, root in enumerate(roots)
        for path in (root.iterdir() if is_folder(root) else ())
        for file in (path / MANIFEST, path / STATE)
        if _NAME.match(path.name) and file.exists()
    ]
    return list(dict.fromkeys(path for _, _, path in sorted(found)))


def write_checkpoint(
    folder: Path,
    gathered: Gathered,
    facts: Mapping[str, Any],
    write_model: Callable[[Path], None],
) -> None:
    """Write all of it, or nothing; a CheckpointError tells why.

    ``facts`` go into the manifest, ``write_model`` writes what is not ours.
    """
    with _whole(folder) as part:
        part.mkdir()
        write_model(part)
        where = _write_state(part, gathered.tensors)
        files = [each for each in part.rglob("*") if each.is_file()]
        _sync(*files)
        digests = {
            each.relative_to(part).as_posix(): file_digest(each) for each in files
        }
        manifest = {**facts, **gathered.entries, "tensors": where, "files": digests}
        (part / MANIFEST).write_bytes(sealed(manifest))


def copy_checkpoint(folder: Path, copy: Path) -> None:
    """Write a second one, which is read back as well; raises as `write_checkpoint`."""
    with _whole(copy) as part:
        shutil.copytree(folder, part)


def keep_last(root: Path, keep: int) -> None:
    """Remove all checkpoints of ours but the last; a kill leaves none half removed."""
    for path in checkpoints_in(root)[:-keep]:
        gone = path.rename(_part_of(path))
        shutil.rmtree(gone, ignore_errors=True)


def _write_state(
    part: Path, tensors: Mapping[str, torch.Tensor]
) -> dict[str, tuple[str, str, str]]:
    """Write what is in no file yet; return the file, key and digest of each tensor.

    What is written is found as what others have written is: read back from the file.
    """
    digests = {name: tensor_digest(each) for name, each in tensors.items()}
    there: dict[str, tuple[str, str]] = {}

    def look(file: Path) -> None:
        name = file.relative_to(part).as_posix()
        there.update({tensor_digest(t): (name, key) for key, t in tensors_in(file)})

    for file in part.rglob("*.safetensors"):
        look(file)
    own = {digest: name for name, digest in digests.items() if digest not in there}
    write_tensors(part / STATE, {name: tensors[name] for name in own.values()})
    look(part / STATE)
    changed = [name for name, digest in digests.items() if digest not in there]
    if changed:
        msg = f"{changed[0]} was read back with other values"
        raise OSError(msg)
    return {name: (*there[digest], digest) for name, digest in digests.items()}


def _part_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.{os.getpid()}.part")


def _sync(*paths: Path) -> None:
    for path in paths:
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


@contextlib.contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """Give the part to write to; check and publish it, or leave nothing and say why.

    What killed processes have left beside it goes, too.
    """
    part = _part_of(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for each in folder.parent.iterdir():
            process = _PART.match(each.name)
            if process and not psutil.pid_exists(int(process[1])):
                shutil.rmtree(each, ignore_errors=True)
        yield part
        Stored(part).verify()
        _sync(*part.rglob("*"), part)
        part.rename(folder)
        _sync(folder.parent)
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
