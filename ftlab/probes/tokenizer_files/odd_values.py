"""Settings whose value is of no kind that transformers can use."""

from collections.abc import Iterator
from typing import Any

from ftlab.probes.tokenizer_files.folder_files import FolderFiles
from ftlab.probes.tokenizer_files.statements import told_by
from ftlab.records.tokenizer_files import Agreement

_SIZE = "vocab_size"
_IDS = ("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id")
_WIDTH = 40


def odd_values(files: FolderFiles) -> Iterator[Agreement]:
    """Yield sizes and ids that are no numbers.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.folder_files import FolderFiles
    >>> from ftlab.probes.tokenizer_files.odd_values import odd_values
    >>> values = {"config.json": {"vocab_size": "many", "eos_token_id": [1, 2]}}
    >>> [each.words for each in odd_values(FolderFiles(Path(), (), values))]
    ["vocab_size is 'many', and should be a number"]
    """
    for file in ("config.json", "generation_config.json"):
        config = files.get(file)
        odd = [name for name in _IDS if not _are_ids(told_by(config, name))]
        size = told_by(config, _SIZE)
        if size is not None and not _is_number(size):
            odd.insert(0, _SIZE)
        if odd:
            value = repr(told_by(config, odd[0]))
            shown = value if len(value) <= _WIDTH else f"{value[:_WIDTH]}..."
            many = "a number" if odd[0] == _SIZE else "a number or a list of them"
            words = f"{odd[0]} is {shown}, and should be {many}"
            yield Agreement(f"values of {file}", "fails", words)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_ids(value: Any) -> bool:
    held = value if isinstance(value, list) else [value]
    return value is None or all(map(_is_number, held))
