"""Tokenizers as a user names them: by object, by folder, by a kept fingerprint."""

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.records.errors import BadValueError
from ftlab.records.fingerprint import Fingerprint
from ftlab.records.said import said_of
from ftlab.rules.words import an
from ftlab.views.tokenizers.fingerprint import FingerprintView

LARGEST = 64 * 2**20
"""Bytes of a file that a kept fingerprint is looked for in."""
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
)
ALLOWED = (
    "a tokenizer, a processor, the folder of a model, an adapter or a tokenizer, or a "
    "fingerprint that was kept"
)


@dataclass(frozen=True, slots=True)
class Source:
    """One tokenizer, as it was named.

    Attributes
    ----------
    name
        How messages call it.
    tokenizer
        The live one; ``None`` for a kept fingerprint.
    fingerprint
        What it is made of.
    """

    name: str
    tokenizer: Any
    fingerprint: Fingerprint


def source_of(given: Any, call: str) -> Source:
    """Find the tokenizer that a user named.

    Parameters
    ----------
    given
        What was passed.
    call
        What was called, such as ``"fingerprint(tokenizer)"``, for messages.

    Raises
    ------
    BadValueError
        It is none, or it cannot be loaded.

    Examples
    --------
    >>> from ftlab.session.tokenizer_sources import source_of
    >>> source_of(3, "fingerprint(tokenizer)")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: fingerprint(tokenizer) was given an int; ...
    """
    if isinstance(given, FingerprintView):
        given = given.fingerprint
    if isinstance(given, Fingerprint):
        return Source(f"kept {given.kind}", None, given)
    if isinstance(given, str | os.PathLike):
        return _at(Path(given), call)
    read = read_fingerprint(given)
    if read is None:
        what = "nothing" if given is None else an(type(given).__name__)
        msg = f"{call} was given {what}; it takes {ALLOWED}."
        raise BadValueError(msg)
    return Source(read.kind, given, read)


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


def _at(path: Path, call: str) -> Source:
    if is_folder(path):
        tokenizer = load_tokenizer(path)
        read = read_fingerprint(tokenizer)
        if read is None:
            msg = (
                f"{path} holds {an(type(tokenizer).__name__)}; {call} takes {ALLOWED}."
            )
            raise BadValueError(msg)
        return Source(path.name or str(path), tokenizer, read)
    if _is(path.is_file):
        return Source(path.name, None, _kept(path))
    msg = (
        f"{str(path)!r} is no folder and no file; {call} takes {ALLOWED}. What is on a "
        "hub goes: transformers.AutoTokenizer.from_pretrained(name)."
    )
    raise BadValueError(msg)


def is_folder(path: Path) -> bool:
    r"""Tell whether a folder is there, whatever a path may be.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.session.tokenizer_sources import is_folder
    >>> is_folder(Path()), is_folder(Path("a\0b"))
    (True, False)
    """
    return _is(path.is_dir)


def _is(what: Any) -> bool:
    with contextlib.suppress(OSError, ValueError):  # a loop of links, a NUL
        return bool(what())
    return False


def _kept(path: Path) -> Fingerprint:
    try:
        _refuse_large(path)
        return Fingerprint.from_json(json.loads(path.read_text(encoding="utf-8")))
    except _UNREADABLE as error:
        msg = (
            f"{path} is no fingerprint that ftlab kept: {said_of(error)}. "
            "ftlab.fingerprint(tokenizer).save(path) writes one; a tokenizer "
            "is named by its folder."
        )
        raise BadValueError(msg) from error


def _refuse_large(path: Path) -> None:
    if path.stat().st_size > LARGEST:
        msg = f"it has more than {LARGEST // 2**20} MiB"
        raise ValueError(msg)
