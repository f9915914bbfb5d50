"""Whether files agree on special tokens: their names, ids, and where they are put."""

from collections.abc import Iterator
from typing import Any

from ftlab.probes.tokenizer_files.folder_files import TOKENIZER, FolderFiles
from ftlab.probes.tokenizer_files.statements import (
    NAMES,
    Says,
    added_says,
    id_says,
    switch_says,
    token_says,
)
from ftlab.probes.tokenizers.reader import Reader
from ftlab.records.tokenizer_files import Agreement

GENERATION = "generation_config.json"
_USED = ("eos_token", "pad_token")
"""Tokens that each training meets."""
LONG = 40
"""Characters of a token that a message shows."""
PROBE = "a"
"""A text, to see what is put around it."""


def special_agreements(
    files: FolderFiles, reader: Reader | None
) -> Iterator[Agreement]:
    """Yield whether files, and what transformers loads, agree on special tokens.

    A tokenizer without a BOS or padding agrees with whatever a configuration says.
    """
    for name in NAMES:
        yield from _special_token(files, reader, name)
    yield from _stops(files, reader)
    for name in ("bos_token", "pad_token"):
        yield from _special_id(files, reader, name)
    for name in ("bos", "eos"):
        yield from _around(files, reader, name)


def _special_token(
    files: FolderFiles, reader: Reader | None, name: str
) -> Iterator[Agreement]:
    says = token_says(files, name)
    read = getattr(reader.tokenizer, name, None) if reader is not None else None
    loaded = [] if reader is None else [read]
    if not says:
        return
    if len({*says.values(), *loaded}) == 1:
        text = next(iter(says.values()))
        words = _unheard_of(files, reader, text) if name in _USED else ""
        if words:
            yield Agreement(name, "fails", words, says, "rows-missing")
        else:
            yield Agreement(name, "agrees", f"{text!r}", says)
        return
    reason = "names-unlike" if len(set(says.values())) > 1 else ""
    yield Agreement(name, "differs", _told(says, reader, read), says, reason)


def _unheard_of(files: FolderFiles, reader: Reader | None, text: str) -> str:
    """Say that no file gives a token an id: the one it gets is new to any model."""
    model = files.get(TOKENIZER).get("model")
    known = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(known, list):  # of pairs, with scores
        known = {str(each[0]) for each in known if isinstance(each, list) and each}
    added = added_says(files).values()
    if not known or text in known or any(text in each for each in added):
        return ""
    at = getattr(reader, "tokenizer", None)
    number = "" if at is None else f" as {at.convert_tokens_to_ids(text)}"
    return (
        f"{_short(text)} is not in {TOKENIZER}: transformers adds it{number}, an id "
        "that the model was not trained with"
    )


def _told(says: Says, reader: Reader | None, read: Any) -> str:
    """Say who says what, and what transformers reads of it."""
    told = ", ".join(f"{file} says {_short(text)}" for file, text in says.items())
    return told if reader is None else f"{told}; transformers reads {_short(read)}"


def _short(value: Any) -> str:
    if value is None:
        return "none"
    text = repr(value)
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def _stops(files: FolderFiles, reader: Reader | None) -> Iterator[Agreement]:
    """Compare the tokenizer's EOS with the ids at which a generation stops.

    Where a generation config is there, what config.json says is not read.
    """
    says = id_says(files, "eos_token_id")
    eos = getattr(reader.tokenizer, "eos_token_id", None) if reader else None
    generates = GENERATION in files.values
    if not isinstance(eos, int) or not (says or generates):
        return
    file = GENERATION if generates else next(iter(says))
    stops = says.get(file, ())
    told = {name: _numbers(ids) for name, ids in says.items()}
    if not stops:
        words = f"{file} names no id, so no generation stops at the tokenizer's "
        words += f"eos_token {_piece(reader, eos)}"
        if says:
            words += f"; what config.json says, {told['config.json']}, is not read then"
        yield Agreement("eos_token_id", "differs", words, told, "eos-not-heeded")
    elif eos not in stops:
        words = (
            f"a generation stops at {_numbers(stops)} ({file}), and not at the "
            f"tokenizer's eos_token {_piece(reader, eos)}"
        )
        yield Agreement("eos_token_id", "differs", words, told, "eos-not-heeded")
    elif any(not set(ids) <= set(stops) for ids in says.values()):
        words = f"config.json says {told.get('config.json')}, {file} {told[file]}"
        words += f"; a generation reads {file}"
        yield Agreement("eos_token_id", "differs", words, told)
    else:
        yield Agreement("eos_token_id", "agrees", _numbers(stops), told)


def _special_id(
    files: FolderFiles, reader: Reader | None, name: str
) -> Iterator[Agreement]:
    """Compare an id of the configurations with the tokenizer's, if it has one."""
    says = id_says(files, f"{name}_id")
    known = getattr(reader.tokenizer, f"{name}_id", None) if reader else None
    if not says or not isinstance(known, int):
        return
    told = {file: _numbers(ids) for file, ids in says.items()}
    if all(known in ids for ids in says.values()):
        yield Agreement(f"{name}_id", "agrees", str(known), told)
        return
    words = ", ".join(f"{file} says {ids}" for file, ids in told.items())
    yield Agreement(f"{name}_id", "differs", f"{words}, the tokenizer {known}", told)


def _around(
    files: FolderFiles, reader: Reader | None, name: str
) -> Iterator[Agreement]:
    """Compare a switch with what is really put around a text."""
    flag = switch_says(files, f"add_{name}_token")
    at = getattr(reader.tokenizer, f"{name}_token_id", None) if reader else None
    if flag is None or reader is None or not isinstance(at, int):
        return
    ids = reader.ids(PROBE)
    there = ids[:1] == [at] if name == "bos" else ids[-1:] == [at]
    subject = f"add_{name}_token"
    says = {"tokenizer_config.json": "on" if flag else "off"}
    if there == flag:
        yield Agreement(subject, "agrees", says["tokenizer_config.json"], says)
        return
    place = "before" if name == "bos" else "behind"
    does = f"puts {_piece(reader, at)}" if there else "puts none"
    words = (
        f"tokenizer_config.json says {says['tokenizer_config.json']}; transformers "
        f"{does} {place} a text"
    )
    if TOKENIZER in files.values:
        words += f": the post-processor in {TOKENIZER} decides"
    yield Agreement(subject, "differs", words, says, "flag-idle")


def _piece(reader: Reader | None, number: int) -> str:
    piece = "" if reader is None else reader.tokenizer.convert_ids_to_tokens(number)
    return f"{_short(piece)} ({number})"


def _numbers(ids: tuple[int, ...]) -> str:
    return ", ".join(map(str, ids))
