"""Columns that are not read as texts, and yet make a row another one.

A question about a table is another one where the table is another. What keeps the books
(an id, a source, a date) or measures the texts (a length, a score) tells nothing.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ftlab.probes.data.rows.layout_names import LAYOUTS

_WORDS_ASIDE = (
    "id ids qid pid cid sid tid idx index uid uuid guid hash md5 sha sha1 sha256 "
    "hexsha checksum key source sources origin provenance split subset fold dataset "
    "datasets corpus dump config url urls uri link links href domain website metadata "
    "meta date time timestamp at created updated modified author authors user "
    "username annotator annotators worker editor reviewer model models generator "
    "engine version revision license licence path filename filepath file files repo "
    "repository commit branch line row shard batch unnamed ip header"
)
ASIDE = frozenset(_WORDS_ASIDE.split())
"""Last words of a column's name that keep the books."""

_WORDS_MEASURED = (
    "length lengths len count counts size score scores rating ratings rank perplexity "
    "ppl probability prob logprob logprobs confidence loss quality similarity "
    "embedding embeddings vector upvotes downvotes votes likes stars downloads views "
    "helpful moderation toxicity weight extra"
)
MEASURED = frozenset(_WORDS_MEASURED.split())
"""Words of a column's name that say something about the texts themselves."""

_WORDS_ANSWERING = (
    "answer answers solution output response completion target label labels class "
    "rationale reasoning explanation thinking thought cot chosen rejected"
)
ANSWERING = frozenset(_WORDS_ANSWERING.split())
"""Words of a column's name that belongs to the answer, and not to the prompt."""

_NUMBERED = frozenset({"number", "no", "nr", "num", "name"})
_COUNTED = frozenset({"num", "n", "number", "total", "avg", "max", "min", "mean"})
_WORDS_BOOKS = (
    "row line page issue file dataset repo model task config user author source"
)
_BOOKS = frozenset(_WORDS_BOOKS.split())

_WORDS_THINGS = (
    "image images img picture photo video audio sound clip speech table db database "
    "schema chart figure screenshot"
)
_THINGS = frozenset(_WORDS_THINGS.split())
"""What an id or a path stands for that a question is about."""

_FILE = re.compile(
    r".{1,400}\.(?:png|jpe?g|gif|webp|bmp|tiff?|svg|wav|mp3|flac|ogg|opus|m4a|mp4|webm"
    r"|avi|mov|mkv|pdf)(?:\?.*)?",
    re.IGNORECASE | re.DOTALL,
)
"""The name of a picture, a sound, a film or a scanned page."""

ELSEWHERE = frozenset(
    [
        "image",
        "images",
        "audio",
        "audios",
        "video",
        "videos",
        "tools",
        "label",
        "labels",
    ]
)
"""Columns that are known to make a row another one wherever they count."""

WORDS, _JSON = 8, ("{", "[")
"""Spaces of a text that keeps no books, and how metadata begins."""

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def is_aside(name: str) -> bool:
    """Tell whether a column makes no row another one.

    Examples
    --------
    >>> from ftlab.probes.data.rows.other_columns import is_aside
    >>> [is_aside(each) for each in ("id", "questionId", "created_at", "num_tokens")]
    [True, True, True, True]
    >>> [is_aside(each) for each in ("table", "image_path", "db_id", "category")]
    [False, False, False, False]
    """
    words = _words(name)
    if not words:
        return True
    if not _THINGS.isdisjoint(words):
        return False
    if words[-1] in ASIDE or not MEASURED.isdisjoint(words):
        return True
    several = len(words) > 1
    numbered = words[-1] in _NUMBERED and not _BOOKS.isdisjoint(words[:-1])
    # `index_level_0`, `Unnamed: 0`
    left = several and words[-1].isdigit() and not ASIDE.isdisjoint(words[:-1])
    return several and (numbered or left or words[0] in _COUNTED)


def is_answering(name: str) -> bool:
    """Tell whether a column belongs to the answer: another one is no other question."""
    return not ANSWERING.isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    return [each.lower() for each in _WORDS.findall(name)]


@lru_cache(LAYOUTS)
def _columns(columns: tuple[object, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that may make a row another one, and those that keep books."""
    held = {name for name in columns if isinstance(name, str)} - ELSEWHERE
    names = sorted(held)
    aside = tuple([name for name in names if is_aside(name)])
    return tuple([name for name in names if name not in aside]), aside


def other_columns(
    row: Mapping[str, Any], texts: Sequence[tuple[str, str]]
) -> list[tuple[str, Any]] | None:
    """Return what a row holds beyond its texts, and what makes it another one.

    Parameters
    ----------
    texts
        Column and text of what is read. What only repeats these is left out.

    Examples
    --------
    >>> from ftlab.probes.data.rows.other_columns import other_columns
    >>> row = {"id": 7, "question": "How many?", "answer": "1", "table": [[1, 2]]}
    >>> other_columns(row, [("question", "How many?"), ("answer", "1")])
    [('table', [[1, 2]])]
    """
    telling, aside = _columns(tuple(row))
    read = {column.partition(".")[0] for column, _ in texts}
    names = [name for name in telling if not _is_missing(row[name])]
    names += [name for name in aside if _is_input(row[name])]
    held = [(name, row[name]) for name in names if name not in read]
    return [each for each in held if not _repeats(each[1], texts)] or None


def _repeats(value: object, texts: Sequence[tuple[str, str]]) -> bool:
    """Tell whether a value is a text that was read, or all of them in a template."""
    if not isinstance(value, str) or not texts:
        return False
    first, last = texts[0][1], texts[-1][1]
    whole = len(value) > len(first) + len(last) and first in value and last in value
    return whole or any(value == text for _, text in texts)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _is_input(value: object) -> bool:
    """Tell whether a book's entry is none: a picture's name, or a text of its own."""
    if not isinstance(value, str) or value.startswith(_JSON):
        return False
    return value.count(" ") >= WORDS or _FILE.fullmatch(value) is not None
