"""Pictures were added to rows whose messages have a part for one alone.

Fix: write one part for each picture, or leave these rows out.

Source: huggingface/trl, prepare_multimodal_messages (where it is an error).
"""

from ftlab.faults.builders.rows import ROWS, Writer, fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Give some rows a picture too many."""
    writer, rows, broken = Writer(), [], one_in(12)
    for at in range(ROWS):
        added = at in broken and not fixed
        parts = [{"type": "image"}, {"type": "text", "text": writer.question()}]
        asked = {"role": "user", "content": parts}
        answer = {"role": "assistant", "content": writer.text()}
        images = [f"{at}.png", *([f"{at + 1}.png"] if added else [])]
        rows.append({"messages": [asked, answer], "images": images})
    return looked_at(rows, spots=[f"row {at} images" for at in broken])


FAULT = fault_of_rows(
    "the run ends at a row with two pictures",
    code="DAT060",
)
