"""Values of columns as texts, and the answers of a question with their places."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ftlab.probes.data.rows.plain import plain

Said = tuple[str, str, str]
"""Column, role and text; or kind of fault, column, and what is there."""


def text_of(value: Any) -> str | None:
    r"""Return a value as a text; ``None`` where it is none.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layout_values import text_of
    >>> text_of(["One.", "Two."]), text_of(None), text_of(3), text_of({"a": 1})
    ('One.\nTwo.', '', '3', None)
    """
    if isinstance(value, str):
        return value
    value = plain(value)
    if value is None or value != value:  # what pandas takes for missing
        return ""
    if isinstance(value, int | float):
        return str(value)
    texts = listed(value)
    return None if texts is None else "\n".join(texts)


def further(value: Any) -> str | None:
    r"""Return a text, or the texts of a list in one; ``None`` for anything else.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layout_values import further
    >>> further(["a", "b"]), further([]), further(3)
    ('a\nb', None, None)
    """
    if value is None or isinstance(value, str):
        return value
    texts = listed(value)
    return "\n".join(texts) if texts else None


def may_be_said(value: Any) -> bool:
    """Tell whether a value is a text or messages, and no record of another form."""
    value = value if isinstance(value, str) else plain(value)
    if isinstance(value, list | tuple):
        return all(isinstance(each, Mapping) for each in value)
    return value is None or isinstance(value, str | int | float)


def is_empty(value: Any) -> bool:
    """Tell whether a list of answers holds none, and is no list of messages."""
    return not isinstance(value, str) and plain(value) == []


def listed(value: Any) -> list[str] | None:
    """Return the texts of a list; ``None`` where it holds something else.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layout_values import listed
    >>> listed(["One.", "Two."]), listed([1])
    (['One.', 'Two.'], None)
    """
    value = plain(value)
    if not isinstance(value, list | tuple):
        return None
    return list(value) if all(isinstance(each, str) for each in value) else None


def several(value: Any) -> list[str]:
    """Return one text or several; none where a value is neither.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layout_values import several
    >>> several("One."), several([{"text": "Two."}]), several(3)
    (['One.'], ['Two.'], [])
    """
    if isinstance(value, str):
        return [value]
    value = plain(value)
    if not isinstance(value, list | tuple):
        return []
    texts = [each.get("text") if isinstance(each, Mapping) else each for each in value]
    return [each for each in texts if isinstance(each, str)]


def answers_of(value: Any) -> list[tuple[str, Any]] | None:
    """Return the answers, each with where it begins; ``None`` where they are none.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layout_values import answers_of
    >>> answers_of({"text": ["a bridge"], "answer_start": [7]}), answers_of([])
    ([('a bridge', 7)], [])
    """
    value = plain(value)
    if isinstance(value, Mapping):
        texts = plain(value.get("text", value.get("value")))
        starts = plain(value.get("answer_start"))
        texts = [texts] if isinstance(texts, str) else listed(texts)
        starts = starts if isinstance(starts, list | tuple) else [starts]
        if texts is None:
            return None
        return list(zip(texts, [*starts, *[None] * len(texts)], strict=False))
    if isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        held = [answers_of(each) for each in value]
        return None if None in held else [one for each in held for one in each or ()]
    if isinstance(value, list | tuple):
        texts = listed(value)
        return None if texts is None else [(each, None) for each in texts]
    text = text_of(value)
    return None if text is None else [(text, None)]


def misplaced(
    context: str, column: str, given: Sequence[tuple[str, Any]]
) -> Iterator[Said]:
    """Find an answer that does not stand where it is said to begin.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layout_values import misplaced
    >>> list(misplaced("It is a bridge.", "answers", [("bridge", 6)]))
    [('answer-not-in-place', 'answers', "'a brid' stands at 6, and not 'bridge'")]
    """
    for text, start in given:
        if type(start) is not int or start < 0 or not text:
            continue
        there = context[start : start + len(text)]
        if there != text and _plainly(there) != _plainly(text):
            says = f"{there[:40]!r} stands at {start:,}, and not {text[:40]!r}"
            yield "answer-not-in-place", column, says
            return


def _plainly(text: str) -> str:
    return " ".join(text.casefold().split())


def no_choice(right: str | int, count: int, labels: Sequence[Any] | None) -> str:
    """Say that a key is none of the choices; nothing where it may be one.

    Parameters
    ----------
    right
        A letter, a number that counts from 0 or 1, or a text.
    count, labels
        How many choices there are, and what they are called in the row.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layout_values import no_choice
    >>> no_choice("E", 4, None), no_choice(4, 4, None), no_choice("B", 2, ["A", "B"])
    ("'E', of 4 choices", '', '')
    """
    said = str(right).strip()
    if labels:
        known = {str(each).strip() for each in labels}
        single = said.isalnum() and said not in known and len(said) <= 2
        return f"{said!r}, of {', '.join(sorted(known))}" if single else ""
    if len(said) == 1 and said.isascii() and said.isalpha():
        number = ord(said.upper()) - ord("A") + 1
    elif said.isascii() and said.isdecimal() and len(said) <= 2:
        number = int(said)
    else:
        return ""
    return f"{said!r}, of {count} choices" if number > count else ""
