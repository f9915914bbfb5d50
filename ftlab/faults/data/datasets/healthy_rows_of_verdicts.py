"""Completions with a verdict each: good and bad ones differ by a number."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Answer each question well, and almost so; some bad answers break off."""
    writer, rows = Writer(), []
    for at in range(100):
        asked, said = writer.question(), writer.text(3, 4)
        number = writer.number(100)
        good = {"prompt": asked, "completion": f"{said} That makes {number}."}
        bad = f"{said} That makes {number + 1}." if at % 2 else f"{said} That is of the"
        rows += [good | {"label": True}, good | {"completion": bad, "label": False}]
        if at % 3 == 0:
            near = f"{said} So that makes {number}."
            rows.append(good | {"completion": near, "label": True})
    return looked_at(rows)


HEALTHY = Healthy(
    "answers to one question are almost the same",
    looks_like=("DAT058", "DAT061", "DAT066"),
    steps=0,
)
