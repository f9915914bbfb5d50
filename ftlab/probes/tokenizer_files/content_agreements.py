"""Whether files agree on templates, added tokens, sizes and where they are from."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.tokenizer_files.folder_files import TEMPLATE, FolderFiles
from ftlab.probes.tokenizer_files.statements import (
    added_says,
    listed_twice,
    size_says,
    template_says,
)
from ftlab.probes.tokenizers.reader import Reader
from ftlab.probes.tokens.pieces import special_ids
from ftlab.records.tokenizer_files import Agreement

NAMED = ("bos", "eos", "pad", "unk")
MANY = 64
"""Ids without rows that are no oversight: Gemma 3 has one, for images."""
SHOWN, LONG = 3, 40
"""Added tokens that a message names, and characters of a setting that it shows."""


def content_agreements(
    files: FolderFiles, reader: Reader | None, rows: Mapping[str, int]
) -> Iterator[Agreement]:
    """Yield whether files, what transformers loads and the embedding agree."""
    yield from _template(files, reader)
    yield from _added(files, reader)
    yield from _size(files, reader, rows)
    yield from _revisions(files)
    yield from _base(files)


def _template(files: FolderFiles, reader: Reader | None) -> Iterator[Agreement]:
    says = template_says(files)
    read = getattr(reader.tokenizer, "chat_template", None) if reader else None
    if not says:
        return
    names = " and ".join(says)
    sizes = {file: f"{len(text):,} characters" for file, text in says.items()}
    if len(set(says.values())) == 1 and (reader is None or read in says.values()):
        words = f"{names} hold the same" if len(says) > 1 else names
        yield Agreement("chat template", "agrees", words, sizes)
        return
    by = next((file for file, text in says.items() if text == read), "")
    words = f"{names} hold other templates" if len(says) > 1 else f"{names} holds one"
    if reader is not None:
        what = f"that of {by}" if by else "none" if read is None else "another one"
        words += f"; the tokenizer that transformers loads has {what}"
    reason = "template-hidden" if _is_hidden(says) else ""
    yield Agreement("chat template", "differs", words, sizes, reason)


def _is_hidden(says: Mapping[str, str]) -> bool:
    """Compare the two that a tokenizer reads; Jinja drops a newline at the end."""
    both = [says[each] for each in (TEMPLATE, "tokenizer_config.json") if each in says]
    return len({text.removesuffix("\n") for text in both}) > 1


def _added(files: FolderFiles, reader: Reader | None) -> Iterator[Agreement]:
    says = added_says(files)
    if len(says) < 2 and reader is None:
        return
    every = {token for tokens in says.values() for token in tokens}
    every -= listed_twice(files).keys()
    unlike, reason = [], ""
    for token in sorted(every):
        ids = {name: tokens[token] for name, tokens in says.items() if token in tokens}
        read = _id_of(reader, token)
        if len({*ids.values(), *([] if reader is None else [read])}) > 1:
            unlike.append(_told_id(token, ids, reader, read))
        if len(set(ids.values())) > 1:
            reason = "ids-unlike"
    told = {name: f"{len(tokens):,} tokens" for name, tokens in says.items()}
    if unlike:
        rest = len(unlike) - SHOWN
        more = f"; and {rest:,} more" if rest > 0 else ""
        words = "; ".join(unlike[:SHOWN]) + more
        yield Agreement("added tokens", "differs", words, told, reason)
    elif every:
        yield Agreement("added tokens", "agrees", f"{len(every):,} tokens", told)


def _told_id(
    token: str, ids: Mapping[str, int], reader: Reader | None, read: Any
) -> str:
    said = ", ".join(f"{number} in {name}" for name, number in ids.items())
    loaded = "not loaded" if read is None else f"{read} as loaded"
    return f"{token[:LONG]!r} is {said}" + (f", {loaded}" if reader else "")


def _id_of(reader: Reader | None, token: str) -> Any:
    if reader is None:
        return None
    found = reader.tokenizer.convert_tokens_to_ids(token)
    known = isinstance(found, int) and reader.pieces([found])[0] == token
    return found if known else None


def _size(
    files: FolderFiles, reader: Reader | None, rows: Mapping[str, int]
) -> Iterator[Agreement]:
    says = dict(rows) | size_says(files)
    if not says:
        return
    told = {name: f"{size:,}" for name, size in says.items()}
    sizes = ", ".join(f"{size} in {name}" for name, size in told.items())
    highest = max((at for at, _ in reader.vocabulary()), default=-1) if reader else -1
    if highest >= min(says.values()):
        words = (
            f"the tokenizer has ids up to {highest:,}, but there are rows for {sizes}; "
            "rows that model.resize_token_embeddings(len(tokenizer)) adds are untrained"
        )
        reason = _reason(reader, highest, min(says.values()))
        yield Agreement("embedding", "fails", words, told, reason)
    elif len(set(says.values())) > 1:
        yield Agreement("embedding", "differs", f"rows: {sizes}", told)
    elif reader is not None:
        words = f"ids up to {highest:,}, rows for {next(iter(told.values()))}"
        yield Agreement("embedding", "agrees", words, told)


def _reason(reader: Reader | None, highest: int, rows: int) -> str:
    """Tell whether texts will meet an id without a row: a special one, or many."""
    known = special_ids(reader.tokenizer) if reader else {}
    named = {each for name in NAMED for each in known.get(name, ())}
    without = any(each >= rows for each in named)
    return "rows-missing" if without or highest - rows + 1 >= MANY else ""


def _base(files: FolderFiles) -> Iterator[Agreement]:
    adapter = files.get("adapter_config.json")
    base = adapter.get("base_model_name_or_path")
    if not isinstance(base, str):
        return
    revision = adapter.get("revision")
    at = f" at revision {revision}" if isinstance(revision, str) else ""
    words = (
        f"the adapter is of {base[:200]}{at}; ftlab.tokenizer_diff(folder, base) "
        "compares their tokenizers"
    )
    yield Agreement("base model", "noted", words, {"adapter_config.json": base[:200]})


def _revisions(files: FolderFiles) -> Iterator[Agreement]:
    says = {each.name: each.revision for each in files.states if each.revision}
    if not says:
        return
    if len(set(says.values())) == 1:
        revision = next(iter(says.values()))
        yield Agreement("revision", "agrees", revision, says)
        return
    told = ", ".join(f"{name} is of {said[:8]}" for name, said in says.items())
    yield Agreement("revision", "differs", told, says)
