"""A parser of replies took some answers for a part of the reasoning before them.

Fix: look for ``</think>`` in the reply as it came, and generate anew what has none.

Source: vllm-project/vllm#48865 (a reply without the mark is all reasoning).
"""

from ftlab.faults.builders.rows import Writer, fault_of_rows, looked_at, one_in, talks
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Leave the content of some answers empty."""
    rows, writer, broken = talks(), Writer(1), one_in(12)
    for at, row in enumerate(rows):
        answer = row["messages"][1]
        thought = writer.text()
        if at in broken and not fixed:
            thought, answer["content"] = f"{thought}\n\n{answer['content']}", ""
        answer["reasoning_content"] = thought
    spots = [f"row {at} messages[1].content" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "the model thinks, and then says nothing",
    code="DAT058",
)
