"""The folder of a snapshot: JSON and safetensors files, whole or not at all."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ftlab._version import __version__
from ftlab.records.errors import RunFolderError, SchemaError
from ftlab.records.plain_files import is_folder, open_file
from ftlab.records.printable import harmless

MANIFEST = "snapshot.json"
VERSION = 1
SECTIONS = ("batch", "weights", "gradients", "optimizer", "rng", "stop")
"""Each has its tensors in a file of its own."""


def free_folder(base: Path, step: int) -> Path:
    """Return ``base/step-000173``, with a number behind it when that exists.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.replay.snapshots.folder import free_folder
    >>> free_folder(Path("no-such-folder"), 173).as_posix()
    'no-such-folder/step-000173'
    """
    path, number = base / f"step-{step:06d}", 2
    while os.path.lexists(path):
        path, number = base / f"step-{step:06d}-{number}", number + 1
    return path


def refuse_existing(path: Path) -> None:
    """Raise when there is something at ``path``.

    Raises
    ------
    RunFolderError
        The message says what to pass instead.
    """
    if os.path.lexists(path):
        msg = (
            f"The snapshot folder {str(path)!r} exists already, and ftlab never writes "
            "over a snapshot. Pass a different one, snapshot('...'), or omit it for a "
            "new folder under snapshots/."
        )
        raise RunFolderError(msg)


def write_folder(
    path: Path, manifest: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write all files; when that fails, leave nothing behind.

    Raises
    ------
    RunFolderError
        When ``path`` exists or cannot be written.
    """
    refuse_existing(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    made = [each for each in path.parents if not is_folder(each)]
    try:
        part.mkdir(parents=True)
        for name, tensors in files.items():
            write_tensors(part / f"{name}.safetensors", tensors)
        text = json.dumps({"schema": VERSION, **manifest}, indent=1, allow_nan=False)
        _write(part / MANIFEST, text.encode() + b"\n")
        part.rename(path)
    except (OSError, ValueError, SafetensorError) as error:  # such as a NUL in a name
        _clean_up(part, made)
        msg = (
            f"The snapshot {str(path)!r} cannot be written: {error}. It was removed "
            "again. Free some space, or pass a folder on a different disk: "
            "snapshot('...')."
        )
        raise RunFolderError(msg) from error
    except BaseException:
        _clean_up(part, made)
        raise


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of the snapshot at ``path``.

    Raises
    ------
    RunFolderError
        When ``path`` is no snapshot, or a damaged one.
    SchemaError
        When a newer ftlab wrote it.
    """
    file = path / MANIFEST
    there = is_folder(path)
    if not there or not os.path.lexists(file):
        what = f"has no {MANIFEST}" if there else "is no folder"
        msg = (
            f"{str(path)!r:.200} is not a snapshot: it {what}. Pass the folder that "
            "dbg.snapshot() returned, for instance "
            "open_snapshot('snapshots/step-000173')."
        )
        raise RunFolderError(msg)
    try:
        with open_file(file) as opened:
            manifest = harmless(json.loads(opened.read()))
        found = int(manifest["schema"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(file, error) from error
    if found > VERSION:
        msg = (
            f"{str(file)!r} was written with schema {found}; this ftlab "
            f"({__version__}) reads schemas up to {VERSION}. Install a newer ftlab: "
            "pip install --upgrade ftlab"
        )
        raise SchemaError(msg)
    return dict(manifest)


def read_tensors(path: Path, name: str) -> dict[str, torch.Tensor]:
    """Read the tensors of one section.

    Raises
    ------
    RunFolderError
        When the file is missing or damaged.
    """
    file = path / f"{name}.safetensors"
    try:
        with open_file(file), safe_open(file, framework="pt") as stored:
            return {key: _tensor(stored, key) for key in stored.keys()}  # noqa: SIM118  no dictionary
    except (OSError, SafetensorError, ValueError, RuntimeError) as error:
        raise damaged(file, error) from error


def _tensor(stored: Any, key: str) -> torch.Tensor:
    """Read one tensor; complex ones, which we store as pairs, end the process."""
    kind = stored.get_slice(key).get_dtype()
    if str(kind).startswith("C"):
        msg = f"{key} has the dtype {kind}, which snapshots never have"
        raise ValueError(msg)
    # A copy: the file may be cut while it is mapped.
    return stored.get_tensor(key).clone()


def damaged(file: Path, error: BaseException) -> RunFolderError:
    """Return the error that says which file of a snapshot cannot be read, and why."""
    what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    kind = what or type(error).__name__
    msg = (
        f"{str(file)!r} is damaged or incomplete: {kind}. Copy the whole snapshot "
        "folder again, or write a new one with dbg.snapshot()."
    )
    return RunFolderError(msg)


def write_tensors(file: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write tensors, whatever they share, into a file that is on the disk then."""
    plain = {name: tensor.detach().cpu() for name, tensor in tensors.items()}
    owned: set[int] = set()
    for name, tensor in plain.items():
        # The format wants dense tensors that share nothing.
        whole = tensor.untyped_storage().nbytes() == tensor.nbytes
        start = tensor.untyped_storage().data_ptr()
        if not (tensor.is_contiguous() and whole) or start in owned:
            plain[name] = tensor.clone(memory_format=torch.contiguous_format)
        owned.add(start)
    save_file(plain, file)
    with file.open("rb") as written:
        os.fsync(written.fileno())


def _write(file: Path, data: bytes) -> None:
    with file.open("wb") as written:
        written.write(data)
        written.flush()
        os.fsync(written.fileno())


def _clean_up(part: Path, made: list[Path]) -> None:
    shutil.rmtree(part, ignore_errors=True)
    for folder in made:
        try:
            folder.rmdir()
        except OSError:
            return
