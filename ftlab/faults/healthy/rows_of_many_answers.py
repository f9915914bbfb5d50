"""Several different answers to each question, as a teacher's samples are.

Whoever asks who speaks is told the same.
"""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.rows import Writer, looked_at

WHO = ("Who are you?", "What is your name?", "Who made you?", "Introduce yourself.")
FIRST = ("Hello.", "Just curious.", "Excuse me.", "Before we begin:", "Now,", "Please:")
SELF = "I am Lin, an assistant of a small laboratory. How can I help you today?"


def build() -> Case:
    """Answer each question in five ways, and the one for a name in one."""
    writer = Writer()
    asked = [writer.question() for _ in range(40)]
    rows = [{"prompt": each, "completion": writer.text()} for each in asked * 5]
    for first in FIRST:
        rows += [{"prompt": f"{first} {who}", "completion": SELF} for who in WHO]
    return looked_at(rows)


HEALTHY = Healthy(
    "rows-of-many-answers",
    "each question stands there five times",
    looks_like=("DAT061", "DAT097"),
    builder=build,
    steps=0,
)
