"""Reads the files of a tokenizer's folder, whatever is in them."""

import json
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftlab.records.tokenizer_files import FileState

CONFIGS = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.json",
    "config.json",
    "generation_config.json",
    "adapter_config.json",
)
VOCABULARIES = (
    "tokenizer.model",
    "tekken.json",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
)
"""Files that are named, and whose form is not judged: what loads them reads them."""
TOKENIZER = "tokenizer.json"
TEMPLATE = "chat_template.jinja"
OWN = (TOKENIZER, *CONFIGS[:4], TEMPLATE)
"""Files that say what the tokenizer is, beside those of its vocabulary."""
LIMIT, TOKENIZER_LIMIT = 8 * 2**20, 512 * 2**20
"""Bytes. Configurations have some KiB, the largest vocabularies of today 35 MiB."""
_REVISION = re.compile("[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """What was read of a folder.

    Attributes
    ----------
    states
        The files that are there.
    values
        What those hold that could be read, by name: mappings, and the template's text.
    """

    path: Path
    states: tuple[FileState, ...]
    values: Mapping[str, Any]

    def get(self, name: str) -> Mapping[str, Any]:
        """Return what a file holds, nothing where it is missing or cannot be read."""
        found = self.values.get(name)
        return found if isinstance(found, Mapping) else {}


def read_folder(path: Path) -> FolderFiles:
    """Read all files of a tokenizer that are in a folder.

    Nothing raises: files that are too large, no text, no JSON, no mapping, no file, or
    that lead round in a circle are named with what is wrong with them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.folder_files import read_folder
    >>> read_folder(Path("no such folder")).states
    ()
    """
    states, values = [], {}
    for name in (TOKENIZER, *CONFIGS, TEMPLATE, *VOCABULARIES):
        file = path / name
        if not file.is_symlink() and not _exists(file):
            continue
        state, value = _read(file)
        states.append(state)
        if value is not None:
            values[name] = value
    return FolderFiles(path, tuple(states), values)


def has_tokenizer(path: Path) -> bool:
    """Tell whether any file in a folder is a tokenizer's own.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.folder_files import has_tokenizer
    >>> has_tokenizer(Path("no such folder"))
    False
    """
    own = (TOKENIZER, "tokenizer_config.json", *VOCABULARIES)
    return any((path / name).is_symlink() or _exists(path / name) for name in own)


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:
        return False


def _read(file: Path) -> tuple[FileState, Any]:
    size, revision = 0, revision_of(file)
    try:
        status = file.stat()
        size = status.st_size
        _refuse(file, status.st_mode, size)
        if file.name in VOCABULARIES:
            return FileState(file.name, size, "", revision), None
        text = file.read_text(encoding="utf-8")
        value = text if file.suffix == ".jinja" else _mapping(text)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return FileState(file.name, size, problem_of(error), revision), None
    return FileState(file.name, size, "", revision), value


def _refuse(file: Path, mode: int, size: int) -> None:
    if not stat.S_ISREG(mode):
        msg = "it is no regular file"
        raise ValueError(msg)
    large = file.name in (TOKENIZER, *VOCABULARIES)
    limit = TOKENIZER_LIMIT if large else LIMIT
    if size > limit:
        msg = f"it has {size / 2**20:,.0f} MiB, more than {limit // 2**20} MiB"
        raise ValueError(msg)


def _mapping(text: str) -> Mapping[str, Any]:
    value = json.loads(text)
    if not isinstance(value, Mapping):
        msg = f"it holds a JSON {_KINDS.get(type(value), 'value')}, not an object"
        raise ValueError(msg)
    return value


_KINDS = {list: "array", str: "string", int: "number", float: "number"}


def problem_of(error: BaseException) -> str:
    """Say why a file cannot be read.

    Examples
    --------
    >>> from ftlab.probes.tokenizer_files.folder_files import problem_of
    >>> problem_of(RecursionError())
    'it is nested too deep, or too large'
    """
    if isinstance(error, UnicodeDecodeError):
        return (
            f"it is no UTF-8: byte {error.start:,} is 0x{error.object[error.start]:02x}"
        )
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON: {error}"
    if isinstance(error, OSError):
        return f"it cannot be opened: {error.strerror or type(error).__name__}"
    if isinstance(error, RecursionError | MemoryError):
        return "it is nested too deep, or too large"
    return str(error)[:200]


def revision_of(file: Path) -> str:
    """Return the revision that a file was downloaded from, ``""`` for not known.

    A folder of the hub's cache is named after it; a download into a folder of one's own
    leaves it in ``.cache/huggingface``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.folder_files import revision_of
    >>> revision_of(Path("snapshots") / ("ab" * 20) / "config.json")[:7]
    'abababa'
    """
    folder = file.parent
    if folder.parent.name == "snapshots" and _REVISION.fullmatch(folder.name):
        return folder.name
    kept = folder / ".cache" / "huggingface" / "download" / f"{file.name}.metadata"
    try:
        if not kept.is_file() or kept.stat().st_size > 2**12:
            return ""
        first = kept.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, ValueError):
        return ""
    return first if _REVISION.fullmatch(first) else ""
