"""Pictures of a row, and places for pictures in its texts."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.data.answer_faults import ROLES
from ftlab.probes.data.row_parts import MEDIA, RowFault, RowParts, messages_of

PLACE = "<image>"
"""Where a picture goes, as LLaVA's data writes it and most trainings read it."""

_MEDIA = frozenset(MEDIA)
_MORE = (*MEDIA, "image_url", "input_image")


def has_picture(row: Mapping[str, Any], read: RowParts) -> bool:
    """Tell whether a row holds a picture, a sound or a film, in whichever way.

    Examples
    --------
    >>> from ftlab.probes.data.pictures import has_picture
    >>> from ftlab.probes.data.row_parts import parts_of
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
    """Yield the first place for a picture for which a row has none."""
    asked = [part for part in read.parts if ROLES.get(part.role) == "u"]
    places = [part for part in asked if _is_place(part.text.strip())]
    if places and not has_picture(row, read):
        yield "picture-missing", places[0].where, f"{PLACE}, and no picture"
    elif places:
        held, wanted = row.get("images"), sum(p.text.count(PLACE) for p in places)
        if isinstance(held, list | tuple) and 0 < len(held) < wanted:
            says = f"{wanted} places, and {len(held)} pictures"
            yield "picture-missing", places[-1].where, says


def _is_place(text: str) -> bool:
    """Tell whether a picture's place begins or ends a text, or is a line of its own."""
    return PLACE in text and (
        text.startswith(PLACE) or text.endswith(PLACE) or f"\n{PLACE}\n" in text
    )
