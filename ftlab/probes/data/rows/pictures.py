"""Pictures of a row, and places for pictures in its texts."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.data.answers.answer_faults import is_answer
from ftlab.probes.data.rows.parts import RowFault, RowParts
from ftlab.probes.data.rows.roles import ROLES
from ftlab.probes.data.rows.row_access import messages_in, messages_of
from ftlab.probes.data.rows.row_parts import MEDIA

PLACE = "<image>"
"""Where a picture goes, as LLaVA's data writes it and most trainings read it."""

_MEDIA = frozenset(MEDIA)
_COLUMNS = ("image", "images")
_MORE = (*MEDIA, "image_url", "input_image")
_OWN = ("image", "url", "path", "base64", "image_url")
"""What of a part is a picture."""


def has_picture(row: Mapping[str, Any], read: RowParts) -> bool:
    """Tell whether a row holds a picture, a sound or a film, in whichever way.

    Examples
    --------
    >>> from ftlab.probes.data.rows.pictures import has_picture
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = {"prompt": "What is it?", "completion": "A bridge.", "image": "a.png"}
    >>> (
    ...     has_picture(row, parts_of(row)),
    ...     has_picture({"text": ""}, parts_of({"text": ""})),
    ... )
    (True, False)
    """
    if not _MEDIA.isdisjoint(row) and any(_holds(row.get(name)) for name in MEDIA):
        return True
    more = [part for part in read.parts if part.says_more]
    return bool(more) and _among_parts(row, read)


def _holds(value: Any) -> bool:
    return value is not None and not (hasattr(value, "__len__") and len(value) == 0)


def _among_parts(row: Mapping[str, Any], read: RowParts) -> bool:
    if read.kind != "messages":
        return True
    talk = messages_of(row, read)
    contents = [m.get("content") for m in talk if isinstance(m, Mapping)]
    return any(
        isinstance(part, Mapping) and part.get("type") in _MORE
        for content in contents
        if isinstance(content, list | tuple)
        for part in content
    )


def picture_faults(row: Mapping[str, Any], read: RowParts) -> Iterator[RowFault]:
    """Yield where a row has more places for pictures than pictures, or fewer.

    Places are parts of messages that hold no picture of their own, or are written in
    the text; a row may have neither: many programs put them there.

    Examples
    --------
    >>> from ftlab.probes.data.rows.pictures import picture_faults
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> talk = [{"role": "user", "content": [{"type": "image"}]}]
    >>> row = {"messages": talk, "images": ["a.png", "b.png"]}
    >>> list(picture_faults(row, parts_of(row)))
    [('picture-not-placed', 'images', '2 pictures, and 1 place')]
    """
    asked = [part for part in read.parts if ROLES.get(part.role) == "u"]
    written = [part for part in asked if _is_place(part.text.strip())]
    if written and not has_picture(row, read):
        yield "picture-missing", written[0].where, f"{PLACE}, and no picture"
        return
    held = row.get("images")
    if not isinstance(held, list | tuple) and ("images" not in row or held is not None):
        return
    count = len(held or ())
    of_parts = _places_among_parts(row, read)
    places = of_parts or sum(part.text.count(PLACE) for part in written)
    if count < places:
        where = written[-1].where if written and not of_parts else "images"
        says = f"{_counted(places, 'place')}, and {_counted(count, 'picture')}"
        yield "picture-missing", where, says
    elif 0 < places < count:
        says = f"{_counted(count, 'picture')}, and {_counted(places, 'place')}"
        yield "picture-not-placed", "images", says


def is_placed(row: Mapping[str, Any], read: RowParts) -> bool | None:
    """Tell whether a row says where its picture goes; ``None`` where a column has none.

    Examples
    --------
    >>> from ftlab.probes.data.rows.pictures import is_placed
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = {"prompt": "<image> What is it?", "completion": "It.", "image": "a.png"}
    >>> other = row | {"prompt": "What is it?"}
    >>> is_placed(row, parts_of(row)), is_placed(other, parts_of(other))
    (True, False)
    """
    if not any(_holds(row.get(name)) for name in _COLUMNS):
        return None
    if any(PLACE in part.text for part in read.parts if not is_answer(part)):
        return True
    return any(part.get("type") in _MORE for part in _message_parts(row, read))


def _message_parts(row: Mapping[str, Any], read: RowParts) -> Iterator[Any]:
    """Yield the parts of all messages that nobody rejected, tools' apart."""
    talks = dict.fromkeys(each.column for each in read.parts if each.message >= 0)
    talks.pop("rejected", None)
    for message in [each for name in talks for each in messages_in(row, name)]:
        if isinstance(message, Mapping) and message.get("role") != "tool":
            content = message.get("content")
            if isinstance(content, list | tuple):
                yield from (part for part in content if isinstance(part, Mapping))


def _counted(count: int, of: str) -> str:
    return f"{count or 'no'} {of}{'s' * (count != 1)}"


def _places_among_parts(row: Mapping[str, Any], read: RowParts) -> int:
    """Count the parts for pictures that hold none; one that is named twice is one."""
    places = [
        part.get("index")
        for part in _message_parts(row, read)
        if part.get("type") == "image"
        if all(part.get(name) is None for name in _OWN)
    ]
    named = [each for each in places if isinstance(each, int)]
    return len(places) - len(named) + len(set(named))


def _is_place(text: str) -> bool:
    """Tell whether a picture's place begins or ends a text, or is a line of its own."""
    return PLACE in text and (
        text.startswith(PLACE) or text.endswith(PLACE) or f"\n{PLACE}\n" in text
    )
