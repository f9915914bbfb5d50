"""Pictures of a row, and places for pictures in its texts."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.data.rows.formats import MEDIA
from ftlab.probes.data.rows.messages import unfolded
from ftlab.probes.data.rows.parts import REJECTED, ROLES, RowFault, RowParts

PLACE = "<image>"
"""Where a picture goes, as LLaVA's data writes it and most trainings read it."""

_PARTS = (*MEDIA, "image_url", "input_image")
_OWN = ("image", "url", "path", "base64", "image_url")
"""What of a part is a picture."""


def has_picture(row: Mapping[str, Any], read: RowParts) -> bool:
    """Tell whether a row holds a picture, a sound or a film, in whichever way.

    Examples
    --------
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> from ftlab.probes.data.rows.pictures import has_picture
    >>> row = {"prompt": "What is it?", "completion": "A bridge.", "image": "a.png"}
    >>> has_picture(row, parts_of(row)), has_picture({"text": ""}, parts_of(""))
    (True, False)
    """
    if not row.keys().isdisjoint(MEDIA) and any(_holds(row.get(n)) for n in MEDIA):
        return True
    more = any(part.says_more for part in read.parts)
    return more and any(p.get("type") in _PARTS for p in _message_parts(row, read))


def _holds(value: Any) -> bool:
    return value is not None and not (hasattr(value, "__len__") and len(value) == 0)


def picture_faults(row: Mapping[str, Any], read: RowParts) -> Iterator[RowFault]:
    """Yield where a row has more places for pictures than pictures, or fewer.

    Places are parts of messages that hold no picture of their own, or are written in
    the text; a row may have neither: many programs put them there.

    Examples
    --------
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> from ftlab.probes.data.rows.pictures import picture_faults
    >>> talk = [{"role": "user", "content": [{"type": "image"}]}]
    >>> row = {"messages": talk, "images": ["a.png", "b.png"]}
    >>> list(picture_faults(row, parts_of(row)))
    [('picture-not-placed', 'images', '2 pictures, 1 placed')]
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
        yield "picture-missing", where, f"{places} placed, {count} there"
    elif 0 < places < count:
        yield "picture-not-placed", "images", f"{count} pictures, {places} placed"


def _message_parts(row: Mapping[str, Any], read: RowParts) -> Iterator[Any]:
    """Yield the parts of all messages that nobody rejected, tools' apart."""
    talks = {part.column for part in read.parts if part.message >= 0} - {REJECTED}
    for message in [each for name in talks for each in unfolded(row[name])]:
        if isinstance(message, Mapping) and message.get("role") != "tool":
            content = message.get("content")
            if isinstance(content, list | tuple):
                yield from (part for part in content if isinstance(part, Mapping))


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
