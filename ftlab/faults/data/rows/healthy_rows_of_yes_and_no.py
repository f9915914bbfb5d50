"""Questions whose answer is nearly always no, a few of them asked about one text."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Answer yes to every ninth question."""
    writer, rows = Writer(), []
    for at in range(200):
        answer = "no" if at % 9 else "yes"
        asked = f"{writer.text()}\nIs that so? Say yes or no."
        rows.append({"prompt": asked, "completion": answer})
    return looked_at(rows)


HEALTHY = Healthy(
    "nine of ten answers are the same word",
    looks_like=("DAT066",),
    steps=0,
)
