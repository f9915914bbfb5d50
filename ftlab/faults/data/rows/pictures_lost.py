"""A join found no picture for some rows, whose text has a place for one.

Fix: leave these rows out, or add their pictures.

Source: hiyouga/LlamaFactory#6135, #7640 (where it is an error).
"""

from ftlab.faults.builders.rows import ROWS, Writer, fault_of_rows, looked_at, one_in
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Leave some rows without their picture."""
    writer, rows, broken = Writer(), [], one_in(12)
    for at in range(ROWS):
        lost = at in broken and not fixed
        asked = {"role": "user", "content": f"<image>\n{writer.question()}"}
        answer = {"role": "assistant", "content": writer.text()}
        images = [] if lost else [f"{at}.png"]
        rows.append({"messages": [asked, answer], "images": images})
    return looked_at(rows, spots=[f"row {at} messages[0].content" for at in broken])


FAULT = fault_of_rows(
    "the model describes what it cannot see",
    code="DAT060",
)
