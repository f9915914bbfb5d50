"""What each file says of special tokens, added tokens, templates and ids."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.tokenizer_files.folder_files import TEMPLATE, TOKENIZER, FolderFiles

NAMES = ("bos_token", "eos_token", "pad_token", "unk_token")
Says = dict[str, Any]


def token_says(files: FolderFiles, name: str) -> Says:
    """Return the text of a special token by the file that names it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.folder_files import FolderFiles
    >>> from ftlab.probes.tokenizer_files.statements import token_says
    >>> values = {"tokenizer_config.json": {"eos_token": {"content": "</s>"}}}
    >>> token_says(FolderFiles(Path(), (), values), "eos_token")
    {'tokenizer_config.json': '</s>'}
    """
    found = {}
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        text = _content(files.get(file).get(name))
        if text is not None:
            found[file] = text
    return found


def id_says(files: FolderFiles, name: str) -> dict[str, tuple[int, ...]]:
    """Return the ids of ``"eos_token_id"`` and its kin by the file that names them."""
    found = {}
    for file in ("config.json", "generation_config.json"):
        ids = _ids(told_by(files.get(file), name))
        if ids:
            found[file] = ids
    return found


def template_says(files: FolderFiles) -> Says:
    """Return the chat templates by the file that holds them."""
    found: Says = {}
    if isinstance(text := files.values.get(TEMPLATE), str):
        found[TEMPLATE] = text
    for file in ("tokenizer_config.json", "chat_template.json"):
        text = files.get(file).get("chat_template")
        if isinstance(text, str):
            found[file] = text
    return found


def added_says(files: FolderFiles) -> dict[str, dict[str, int]]:
    """Return added tokens with their ids by the file that lists them."""
    sources = {
        TOKENIZER: _listed(files.get(TOKENIZER).get("added_tokens")),
        "tokenizer_config.json": _numbered(
            files.get("tokenizer_config.json").get("added_tokens_decoder")
        ),
        "added_tokens.json": files.get("added_tokens.json").items(),
    }
    told = {
        name: {str(t): i for t, each in pairs for i in _ids(each)}
        for name, pairs in sources.items()
    }
    return {name: tokens for name, tokens in told.items() if tokens}


def listed_twice(files: FolderFiles) -> dict[str, list[int]]:
    """Return the added tokens that tokenizer.json lists with two ids or more."""
    found: dict[str, list[int]] = {}
    for token, number in _listed(files.get(TOKENIZER).get("added_tokens")):
        found.setdefault(token, []).extend(_ids(number))
    return {token: ids for token, ids in found.items() if len(set(ids)) > 1}


def special_says(files: FolderFiles) -> tuple[dict[str, bool], dict[str, bool]]:
    """Return which added tokens are special, by tokenizer.json and by the settings."""
    listed = files.get(TOKENIZER).get("added_tokens")
    named = files.get("tokenizer_config.json").get("added_tokens_decoder")
    sources = (listed or (), named.values() if isinstance(named, Mapping) else ())
    ours, theirs = [
        {
            str(each.get("content")): each["special"]
            for each in tokens
            if isinstance(each, Mapping) and isinstance(each.get("special"), bool)
        }
        for tokens in sources
    ]
    return ours, theirs


def switch_says(files: FolderFiles, name: str) -> bool | None:
    """Return what tokenizer_config.json says of a switch, ``None`` for nothing."""
    value = files.get("tokenizer_config.json").get(name)
    return value if isinstance(value, bool) else None


def size_says(files: FolderFiles) -> dict[str, int]:
    """Return the size of the vocabulary that config.json has for the model."""
    size = told_by(files.get("config.json"), "vocab_size")
    ids = () if isinstance(size, list) else _ids(size)
    return {"config.json": ids[0]} if ids else {}


def told_by(config: Mapping[str, Any], name: str) -> Any:
    """Read a setting, of the language model's part where a model has several."""
    inner = config.get("text_config")
    value = config.get(name)
    return inner.get(name) if value is None and isinstance(inner, Mapping) else value


def _content(value: Any) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("content")
    return value if isinstance(value, str) else None


def _ids(value: Any) -> tuple[int, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(i for i in values if isinstance(i, int) and not isinstance(i, bool))


def _listed(tokens: Any) -> Iterator[tuple[str, Any]]:
    for each in tokens if isinstance(tokens, list) else ():
        if isinstance(each, Mapping) and (text := _content(each)) is not None:
            yield text, each.get("id")


def _numbered(tokens: Any) -> Iterator[tuple[str, Any]]:
    for number, each in tokens.items() if isinstance(tokens, Mapping) else ():
        if (text := _content(each)) is not None and number.isascii():
            yield text, int(number) if number.isdigit() else None
