"""What tokenizer.json says by itself, for programs that read this file alone."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.tokenizer_files.folder_files import TOKENIZER, FolderFiles
from ftlab.probes.tokenizer_files.statements import (
    added_says,
    listed_twice,
    special_says,
)
from ftlab.probes.tokenizers.reader import Reader
from ftlab.records.said import said_of
from ftlab.records.tokenizer_files import Agreement

TEXTS = (
    "The quick brown fox doesn't jump over 13 lazy dogs, in 2024.",
    "  Two  spaces,\ta tab\n\nand a new line",
    "\u00c9t\u00e9, e\u0301te\u0301 and \ufb01ne \uff21\uff22",
    "\u6a4b\u304c\u3042\u308b, \u041c\u043e\u0441\u0442, \U0001f642",
    "def f(x):\n    return x**2 + 1.5e-3",
)
"""Texts in which normalisers and pre-tokenisers differ."""

SHOWN, LONG = 3, 40
"""Tokens that a message names, and characters of a text that it shows."""


def lone_file_agreements(
    files: FolderFiles, reader: Reader | None
) -> Iterator[Agreement]:
    """Yield in what tokenizer.json alone is another tokenizer than what is loaded.

    Parameters
    ----------
    reader
        Of the tokenizer that transformers loaded from the folder; ``None`` where it
        could not.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.folder_files import FolderFiles
    >>> from ftlab.probes.tokenizer_files.lone_file import lone_file_agreements
    >>> tokens = [{"content": "<a>", "id": 7}, {"content": "<a>", "id": 9}]
    >>> files = FolderFiles(Path(), (), {"tokenizer.json": {"added_tokens": tokens}})
    >>> [each.words for each in lone_file_agreements(files, None)]
    ["'<a>' stands twice in tokenizer.json: 7, 9"]
    """
    if TOKENIZER not in files.values:
        return
    yield from _twice(files)
    yield from _missing(files)
    yield from _flags(files)
    yield from _left_over(files, reader)
    if reader is not None:
        yield from _other_ids(files, reader)


def _twice(files: FolderFiles) -> Iterator[Agreement]:
    """Name a token that has two ids: which one counts hangs on their order."""
    for token, ids in list(listed_twice(files).items())[:SHOWN]:
        said = ", ".join(map(str, ids))
        words = f"{token[:LONG]!r} stands twice in {TOKENIZER}: {said}"
        yield Agreement("added twice", "differs", words, {TOKENIZER: said})


def _missing(files: FolderFiles) -> Iterator[Agreement]:
    """Name tokens that transformers adds, and tokenizer.json does not know."""
    says = added_says(files)
    own = says.pop(TOKENIZER, {})
    model = files.get(TOKENIZER).get("model")
    pieces = model.get("vocab") if isinstance(model, Mapping) else None
    known = own.keys() | (pieces.keys() if isinstance(pieces, Mapping) else set())
    lost = [
        (token, number, file)
        for file, tokens in says.items()
        for token, number in tokens.items()
        if token not in known and (own or isinstance(pieces, Mapping))
    ]
    if not lost:
        return
    token, number, file = lost[0]
    count = len({token for token, _, _ in lost})
    more = f", and {count - 1:,} more" if count > 1 else ""
    words = (
        f"{token[:LONG]!r} ({number}){more}: in {file}, and not in {TOKENIZER}; "
        "programs that read that alone cut it to pieces"
    )
    yield Agreement(f"added tokens of {TOKENIZER}", "differs", words, {file: token})


def _flags(files: FolderFiles) -> Iterator[Agreement]:
    """Name tokens that are special in one file and not in the other."""
    ours, theirs = special_says(files)
    other = [token for token in ours if theirs.get(token, ours[token]) != ours[token]]
    if not other:
        return
    token, more = other[0], len(other) - 1
    config = "tokenizer_config.json, which transformers reads"
    here, there = (TOKENIZER, config) if ours[token] else (config, TOKENIZER)
    words = f"{token[:LONG]!r} is special in {here}, and not in {there}"
    words += f"; {more:,} more differ so" if more else ""
    yield Agreement("special flags", "noted", words, {TOKENIZER: str(ours[token])})


def _left_over(files: FolderFiles, reader: Reader | None) -> Iterator[Agreement]:
    """Name the truncation and padding that somebody's last call has left there."""
    for what in ("truncation", "padding"):
        left = files.get(TOKENIZER).get(what)
        if isinstance(left, Mapping):
            length = left.get("max_length", left.get("strategy"))
            words = (
                f"{TOKENIZER} has one of its own, {json.dumps(length)[:LONG]}, which "
                "programs that read this file alone apply"
            )
            taken = ", ".join(_taken(what, left, files, reader))
            if taken:
                words += f"; tokenizer_config.json names none: transformers has {taken}"
            yield Agreement(what, "noted", words, {TOKENIZER: json.dumps(left)[:200]})


def _taken(
    what: str, left: Mapping[str, Any], files: FolderFiles, reader: Reader | None
) -> Iterator[str]:
    """Yield what transformers takes from there, as no configuration names it."""
    config = files.get("tokenizer_config.json")
    side = str(left.get("direction")).lower()
    asked = {f"{what}_side": side if side == "left" else None}
    if what == "padding":
        asked["pad_token"] = left.get("pad_token")
    for name, value in asked.items():
        loaded = getattr(reader.tokenizer, name, None) if reader else None
        if value is not None and name not in config and loaded == value:
            yield f"{name} {value!r}"


def _other_ids(files: FolderFiles, reader: Reader) -> Iterator[Agreement]:
    """Compare ids of some texts: transformers may build stages of its own."""
    from tokenizers import Tokenizer

    if reader.backend != "tokenizers":
        return
    try:
        alone = Tokenizer.from_file(str(files.path / TOKENIZER))
    except Exception as error:  # noqa: BLE001  the library raises Exception itself
        words = f"{TOKENIZER} alone cannot be loaded: {said_of(error)}"
        yield Agreement("read alone", "not checked", words)
        return
    alone.no_truncation()
    alone.no_padding()
    both = [
        (
            text,
            alone.encode(text, add_special_tokens=False).ids,
            reader.encoded(text)[0],
        )
        for text in TEXTS
    ]
    other = [(text, one, two) for text, one, two in both if one != two]
    if not other:
        return
    text, one, two = other[0]
    words = (
        f"{TOKENIZER} read alone gives other ids in {len(other)} of {len(both)} texts "
        f"than transformers, which builds stages of its own for this class: "
        f"{text[:LONG]!r} has {len(one)} tokens, and {len(two)}"
    )
    yield Agreement("read alone", "differs", words, {TOKENIZER: str(one)[:200]})
