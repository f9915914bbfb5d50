"""The folder of a run: its name, its ranks, and ``run.json``."""

import contextlib
import importlib.metadata
import json
import os
import platform
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from ftlab._version import __version__
from ftlab.records.errors import RunFolderError, SchemaError
from ftlab.records.plain_files import is_folder, open_file, path_of
from ftlab.runlog.codec import dumps, loads
from ftlab.runlog.disk import replace
from ftlab.runlog.schema import VERSION

Made = TypeVar("Made")

EXAMPLE = "open_run('runs/2026-11-20-090500-1')"
RANK = re.compile(r"rank-(\d{5})$")
_PACKAGES = (
    "torch",
    "transformers",
    "peft",
    "accelerate",
    "trl",
    "bitsandbytes",
    "numpy",
    "pyarrow",
)


def default_folder(now: datetime, base: str | Path = "runs") -> Path:
    """Return ``runs/<date>-<time>-<n>``, the first one that does not exist.

    Examples
    --------
    >>> from datetime import datetime
    >>> default_folder(
    ...     datetime(2026, 11, 20, 9, 5, 0), base="no-such-folder"
    ... ).as_posix()
    'no-such-folder/2026-11-20-090500-1'
    """
    number = 1
    while os.path.lexists(path := Path(base) / f"{now:%Y-%m-%d-%H%M%S}-{number}"):
        number += 1
    return path


def run_dir_of(value: Any) -> Path | None:
    """Return ``run_dir`` as it was passed as a path, ``None`` for none."""
    return None if value is None else path_of(value, "run_dir", "run_dir='runs/mine'")


def rank_folder(path: Path, rank: int) -> Path:
    """Return the folder that ``rank`` alone writes."""
    return path / f"rank-{rank:05d}"


def ranks(path: str | Path) -> tuple[int, ...]:
    """Return the ranks that have logged to the run at ``path``."""
    return tuple(
        sorted(int(found[1]) for found in map(RANK.match, _inside(path)) if found)
    )


def _inside(path: str | Path) -> list[str]:
    """Return the names in a folder, none where it cannot be read."""
    try:
        return [entry.name for entry in Path(path).iterdir()]
    except (OSError, ValueError):
        return []


def process_rank() -> int:
    """Return the rank that torchrun or accelerate gave this process; 0 without one."""
    found = os.environ.get("RANK", "0")
    return int(found) if found.isdecimal() else 0


def refuse_taken(path: Path, rank: int) -> Path:
    """Return the folder of ``rank``, unless something is in its place already.

    Raises
    ------
    RunFolderError
        When there is.
    """
    folder = rank_folder(path, rank)
    taken = folder if _by_other_ranks(path, rank) else path
    if os.path.lexists(taken):
        raise _taken(taken)
    return folder


def _taken(path: Path) -> RunFolderError:
    msg = (
        f"The run folder {str(path)!r} exists already, and ftlab never writes "
        "into an existing run. Pass another one, run_dir='...' (--run-dir for "
        "ftlab run), or leave it out to get a new folder under runs/."
    )
    return RunFolderError(msg)


def create_default(create: Callable[[Path], Made]) -> Made:
    """Create something in the default folder, in the next one where it is taken.

    Another process may choose the same one in the same second.
    """
    while True:
        folder = default_folder(datetime.now())
        try:
            return create(folder)
        except RunFolderError:
            if not os.path.lexists(folder):
                raise


def create_folder(path: Path, rank: int, meta: Mapping[str, Any]) -> None:
    """Make the folders of a new run; rank 0 also writes ``meta``.

    Raises
    ------
    RunFolderError
        When there is something at ``path`` already, or nothing can be written there.
        Then no folder is left behind.
    """
    folder = refuse_taken(path, rank)
    try:
        folder.mkdir(parents=True)
        if rank == 0:
            write_meta(path, meta)
    except FileExistsError as error:  # another process was faster
        raise _taken(folder) from error
    except (OSError, ValueError) as error:  # such as a name with a NUL
        why = getattr(error, "strerror", None) or error
        for made in (folder, path):
            with contextlib.suppress(OSError, ValueError):
                made.rmdir()
        msg = (
            f"The run folder {str(path)!r} cannot be written: {why}. Pass "
            "run_dir='...' with a folder that this user may create, on a disk with "
            "room."
        )
        raise RunFolderError(msg) from error


def _by_other_ranks(path: Path, rank: int) -> bool:
    """Whether ``path`` exists because other ranks of this run came first."""
    if not is_folder(path):
        return False
    names = _inside(path)
    if rank == 0:
        return bool(names) and all(RANK.match(name) for name in names)
    return not names or "run.json" in names or any(map(RANK.match, names))


def versions() -> dict[str, str]:
    """Return the versions of Python, ftlab and the packages that matter to a run."""
    found = {"python": platform.python_version(), "ftlab": __version__}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def write_meta(path: Path, meta: Mapping[str, Any]) -> None:
    """Write ``run.json``, atomically."""
    text = json.dumps(json.loads(dumps(meta)), indent=2)
    replace(path / "run.json", text.encode() + b"\n")


def read_meta(path: Path) -> dict[str, Any]:
    """Read ``run.json``; empty when rank 0 has not written it.

    Raises
    ------
    RunFolderError
        When ``path`` is not the folder of a run.
    SchemaError
        When the run was written by a newer ftlab.
    """
    file = path / "run.json"
    there = is_folder(path)
    if not there or not os.path.lexists(file):
        if ranks(path):
            return {}
        what = "has no run.json" if there else "is no folder"
        msg = (
            f"{str(path)!r:.200} is not the folder of a run: it {what}. Pass the "
            f"folder that watch printed, for instance {EXAMPLE}."
        )
        raise RunFolderError(msg)
    try:
        with open_file(file) as opened:
            meta = loads(opened.read())
    except (OSError, ValueError, RecursionError) as error:  # no JSON, or no text at all
        msg = f"{str(file)!r} is damaged: {error}. Restore it, or remove it to go on."
        raise RunFolderError(msg) from error
    check_version(meta, file)
    return dict(meta)


def check_version(header: Mapping[str, Any], file: Path) -> None:
    """Raise a SchemaError when ``header`` says a schema that this ftlab cannot read."""
    try:
        found = int(header.get("schema", VERSION))
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        msg = f"{str(file)!r} is damaged: its header {header!r} names no schema."
        raise RunFolderError(msg) from error
    if found > VERSION:
        msg = (
            f"{str(file)!r} was written with schema {found}; this ftlab "
            f"({__version__}) reads schemas up to {VERSION}. Install a newer ftlab: "
            "pip install --upgrade ftlab"
        )
        raise SchemaError(msg)
