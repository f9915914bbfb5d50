"""The teacher's answers were cut by a limit while it was still thinking.

Fix: a higher ``max_new_tokens``, or leave these rows out.

Source: general; distilled answers of reasoning models.
"""

from ftlab.faults.builders.rows import Writer, looked_at, one_in, talks
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Cut some answers within the reasoning."""
    rows, writer, broken = talks(), Writer(1), one_in(12)
    for at, row in enumerate(rows):
        answer = row["messages"][1]
        said = f"<think>\n{writer.text()}\n</think>\n\n{answer['content']}"
        if at in broken and not fixed:
            said = said.partition("</think>")[0] if at % 4 else said.split("\n\n")[0]
        answer["content"] = said
    spots = [f"row {at} messages[1].content character 0" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "thinking-cut-off",
    "the model thinks, and then says nothing",
    code="DAT058",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
