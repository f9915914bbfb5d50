"""How many rows an embedding has: of a live model, or by the headers of its files."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

from ftlab.probes.tokenizer_files.folder_files import problem_of

LIVE = "the model"
"""Who tells the rows of a live one."""
LIMIT = 100 * 2**20
"""Bytes of a header; safetensors itself takes no longer one."""
_EMBEDDING = re.compile(
    r"(^|\.)(embed_tokens|wte|word_embeddings|tok_embeddings|embed_in|shared)"
    r"(\.[\w-]+)*\.weight$"
)


def embedding_rows(folder: Path, model: Any = None) -> dict[str, int]:
    """Return the rows of the embedding by who tells them.

    Parameters
    ----------
    folder
        Where safetensors are looked for; only their headers are read.
    model
        A live model that was given.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.faults.builders.tiny import llama
    >>> from ftlab.probes.tokenizer_files.embedding_rows import embedding_rows
    >>> embedding_rows(Path("no such folder"), llama())
    {'the model': 128}
    """
    found = {}
    if model is not None:
        words = model.get_input_embeddings()
        found[LIVE] = int(words.weight.shape[0])
    for file in sorted(folder.glob("*.safetensors")):
        for shape in _shapes(file):
            found[file.name] = max(shape[0], found.get(file.name, 0))
    return found


def base_folder(folder: Path) -> Path | None:
    """Return where the model of an adapter is, if that is a folder of this machine.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.embedding_rows import base_folder
    >>> base_folder(Path("no such folder")) is None
    True
    """
    try:
        read = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
        base = Path(read["base_model_name_or_path"])
        return base if base.is_dir() else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def broken_headers(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the safetensors of a folder that cannot be read, and why.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ftlab.probes.tokenizer_files.embedding_rows import broken_headers
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "model.safetensors").write_bytes(b"abc")
    >>> list(broken_headers(folder))
    [('model.safetensors', 'it ends within its first 8 bytes')]
    """
    for file in sorted(folder.glob("*.safetensors")):
        try:
            _header(file)
        except (OSError, ValueError, RecursionError) as error:
            yield file.name, problem_of(error)


def _shapes(file: Path) -> Iterator[list[int]]:
    """Yield the shapes of embeddings in a file; nothing of one that is no such file."""
    try:
        header = _header(file)
    except (OSError, ValueError, RecursionError):
        return
    for name, told in header.items():
        shape = told.get("shape") if isinstance(told, dict) else None
        # rows of trainable tokens and of adapters are not the table itself
        whole = "lora_" not in name and "token_adapter" not in name
        if whole and _EMBEDDING.search(name) and _is_table(shape):
            yield shape


def _header(file: Path) -> dict[str, Any]:
    """Read what a file holds; weights that were not downloaded are a folder's matter.

    Raises
    ------
    ValueError
        It is no file of this format.
    """
    if not file.is_file():
        return {}
    with file.open("rb") as opened:
        begin = opened.read(8)
        size = int.from_bytes(begin, "little")
        held = b"" if size > LIMIT else opened.read(size)
    if len(begin) < len(b"12345678"):
        msg = "it ends within its first 8 bytes"
        raise ValueError(msg)
    if size > LIMIT or len(held) < size:
        msg = f"its header should have {size:,} bytes, which it has not"
        raise ValueError(msg)
    header = json.loads(held)
    if not isinstance(header, dict):
        msg = "its header is no JSON object"
        raise ValueError(msg)
    return header


def _is_table(shape: Any) -> TypeGuard[list[int]]:
    return (
        isinstance(shape, list)
        and len(shape) == 2
        and all(isinstance(each, int) for each in shape)
    )
