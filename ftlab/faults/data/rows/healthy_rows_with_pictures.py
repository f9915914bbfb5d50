"""Questions with pictures, without, and about how places for pictures are written.

Some of the pictures stand in a column, once for each part or without any.
"""

from typing import Any

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def _parts(writer: Writer, at: int) -> list[dict[str, Any]]:
    asked = writer.question()
    if at % 3 == 1:
        asked = f"Where in the text does <image> stand? {asked}"
    picture = [{"type": "image", "image": f"{at}.png"}] if at % 3 == 0 else []
    return [*picture, {"type": "text", "text": asked}]


def build() -> Case:
    """Give every third question a picture."""
    writer, rows = Writer(), []
    for at in range(200):
        parts = _parts(writer, at)
        if at % 6 == 0:
            parts = [{"type": "image"}, {"type": "image"}, *parts[1:]]
        asked = {"role": "user", "content": parts}
        told = [{"type": "text", "text": writer.text()}]
        row: dict[str, Any] = {
            "messages": [asked, {"role": "assistant", "content": told}]
        }
        if at % 2 == 0:
            row["images"] = [f"{at}.png", f"{at}b.png"] if at % 3 != 1 else []
        rows.append(row)
    return looked_at(rows)


HEALTHY = Healthy(
    "some rows have no picture, and some speak of a place for one",
    looks_like=("DAT060",),
    steps=0,
)
