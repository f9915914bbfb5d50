"""The tokenizer that transformers loads from a folder."""

import contextlib
import os
from pathlib import Path
from typing import Any

from ftlab.probes.tokenizer_files.folder_files import has_tokenizer
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.records.errors import BadValueError
from ftlab.records.fingerprint import Fingerprint
from ftlab.records.said import said_of


def load_tokenizer(folder: Path) -> Any:
    """Load the tokenizer of a folder as transformers would, without code of others.

    Raises
    ------
    BadValueError
        transformers cannot load it; the message has its words.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in Rust is no Exception
        msg = (
            f"transformers cannot load a tokenizer from {folder}: {said_of(error)}. "
            "ftlab.tokenizer_files(folder) looks at each file; "
            "tokenizer.save_pretrained(folder) writes them."
        )
        raise BadValueError(msg) from error


def folder_print(folder: Path) -> Fingerprint | None:
    """Return the fingerprint of what transformers loads, ``None`` where it cannot."""
    try:
        return read_fingerprint(load_tokenizer(folder))
    except BadValueError:  # missing, damaged, or of a kind that AutoTokenizer lacks
        return None


def loaded_from(tokenizer: Any) -> Path | None:
    """Return the folder that a tokenizer was loaded from, ``None`` for a hub's name.

    Examples
    --------
    >>> from ftlab.probes.tokenizers.folder_tokenizer import loaded_from
    >>> loaded_from(None) is None
    True
    """
    reader = reader_of(tokenizer)
    name = getattr(reader.tokenizer, "name_or_path", None) if reader else None
    if not isinstance(name, str | os.PathLike) or not name:
        return None
    folder = Path(name)
    return folder.absolute() if is_folder(folder) and has_tokenizer(folder) else None


def is_folder(path: Path) -> bool:
    r"""Tell whether a folder is there, whatever a path may be.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizers.folder_tokenizer import is_folder
    >>> is_folder(Path()), is_folder(Path("a\0b"))
    (True, False)
    """
    return _is(path.is_dir)


def is_file(path: Path) -> bool:
    """Tell whether a file is there, whatever a path may be."""
    return _is(path.is_file)


def _is(what: Any) -> bool:
    with contextlib.suppress(OSError, ValueError):  # a loop of links, a NUL
        return bool(what())
    return False
