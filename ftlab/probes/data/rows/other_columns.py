"""Columns that are not read as texts, and yet make a row another one.

A question about a table is another one where the table is another. What keeps the books
(an id, a source, a score) tells nothing.
"""

import re
from collections.abc import Mapping
from typing import Any

KNOWN = frozenset(
    {"image", "images", "audio", "audios", "video", "videos", "tools"}
    | {"label", "labels"}
)
"""Columns that are known to make a row another one wherever they count."""

_BOOKS = re.compile(
    r"(?:^|_)(?:ids?|meta|metadata|source|url|license|author|date|tokens?|scores?"
    r"|embeddings?|logprobs?|stats|info)(?:_|$)",
    re.IGNORECASE,
)
_FILE = re.compile(r"\S{1,400}\.(?:png|jpe?g|gif|webp|bmp|tiff?|wav|mp3|flac|mp4|pdf)")
"""The name of a picture, a sound, a film or a scanned page."""

WORDS = 8
"""Spaces of a text that keeps no books."""


def other_columns(
    row: Mapping[str, Any], read: set[str]
) -> list[tuple[str, Any]] | None:
    """Return what a row holds beyond its texts, and what makes it another one.

    Parameters
    ----------
    read
        The columns that are read.

    Examples
    --------
    >>> from ftlab.probes.data.rows.other_columns import other_columns
    >>> row = {"id": 7, "question": "How many?", "answer": "1", "table": [[1, 2]]}
    >>> other_columns(row, {"question", "answer"})
    [('table', [[1, 2]])]
    """
    names = sorted(str(name) for name in row if name not in read and name not in KNOWN)
    held = [(name, row[name]) for name in names if name in row]
    return [(name, value) for name, value in held if _is_input(name, value)] or None


def _is_input(name: str, value: Any) -> bool:
    if isinstance(value, str):
        file = "." in value[-5:] and _FILE.fullmatch(value) is not None
        return file or (value.count(" ") >= WORDS and not value.startswith(("{", "[")))
    held = isinstance(value, list | tuple | Mapping) or hasattr(value, "tolist")
    return held and _BOOKS.search(name) is None
