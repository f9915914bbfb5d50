"""Pictures of a row, and places for pictures in its texts."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.data.answer_faults import ROLES
from ftlab.probes.data.row_parts import MEDIA, RowFault, RowParts, messages_of

PLACE = "<image>"
"""Where a picture goes, as LLaVA's data writes it and most trainings read it."""

_MORE = (*MEDIA, "image_url", "input_image")


def has_picture(value: Any, read: RowParts) -> bool:
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
    if isinstance(value, Mapping):
        for name in MEDIA:
            if name in value and _holds(value[name]):
                return True
    return any(p.says_more for p in read.parts) and _among_parts(value, read)


def _holds(value: Any) -> bool:
    return value is not None and not (hasattr(value, "__len__") and len(value) == 0)


def _among_parts(value: Any, read: RowParts) -> bool:
    if read.kind != "messages":
        return True
    contents = [m.get("content") for m in messages_of(value, read)]
    return any(
        isinstance(part, Mapping) and part.get("type") in _MORE
        for content in contents
        if isinstance(content, list | tuple)
        for part in content
    )


def picture_faults(value: Any, read: RowParts) -> Iterator[RowFault]:
    """Yield the first place for a picture in a row that has none.

    A place is a line of its own, or begins or ends the text of a question.
    """
    for part in read.parts:
        if PLACE in part.text and ROLES.get(part.role) == "u":
            text = part.text.strip()
            alone = text.startswith(PLACE) or text.endswith(PLACE)
            if (alone or f"\n{PLACE}\n" in text) and not has_picture(value, read):
                yield "picture-missing", part.where, f"{PLACE}, and no picture"
                return
