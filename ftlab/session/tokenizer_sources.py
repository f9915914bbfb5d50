"""Tokenizers as a user names them: by object, by folder, by a kept fingerprint."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftlab.probes.tokenizer_files.folder_files import (
    TOKENIZER,
    VOCABULARIES,
    has_tokenizer,
)
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.probes.tokenizers.folder_tokenizer import (
    is_file,
    is_folder,
    load_tokenizer,
)
from ftlab.probes.tokenizers.kept_print import UNREADABLE, read_kept, trained_with
from ftlab.records.errors import BadValueError
from ftlab.records.fingerprint import Fingerprint
from ftlab.records.said import said_of
from ftlab.rules.words import an
from ftlab.views.tokenizers.fingerprint import FingerprintView

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
    trained
        That of the tokenizer that the checkpoint was trained with, where a watch has
        kept it in the folder.
    """

    name: str
    tokenizer: Any
    fingerprint: Fingerprint
    trained: Fingerprint | None = None


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


def _at(path: Path, call: str) -> Source:
    if is_folder(path):
        trained, name = trained_with(path), path.name or str(path)
        if trained is not None and not has_tokenizer(path):
            return Source(name, None, trained, trained)
        tokenizer = load_tokenizer(path)
        read = read_fingerprint(tokenizer)
        if read is None:
            msg = (
                f"{path} contains {an(type(tokenizer).__name__)}; {call} takes "
                f"{ALLOWED}."
            )
            raise BadValueError(msg)
        return Source(name, tokenizer, read, trained)
    if is_file(path):
        return Source(path.name, None, _kept(path))
    msg = (
        f"{str(path)!r} is neither a folder nor a file; {call} takes {ALLOWED}. For "
        "one on a hub: transformers.AutoTokenizer.from_pretrained(name)."
    )
    raise BadValueError(msg)


def _kept(path: Path) -> Fingerprint:
    if path.name in (TOKENIZER, *VOCABULARIES):
        msg = (
            f"{path} is one file of a tokenizer; pass its folder, "
            f"{str(path.parent)!r}, which says how to read it."
        )
        raise BadValueError(msg)
    try:
        return read_kept(path)
    except UNREADABLE as error:
        msg = (
            f"{path} is not a fingerprint saved by ftlab: {said_of(error)}. "
            "ftlab.fingerprint(tokenizer).save(path) writes one; a tokenizer is named "
            "by its folder."
        )
        raise BadValueError(msg) from error
