"""Questions about a text, whose answers are copied out of it."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Ask for a number that stands in the text."""
    writer, rows = Writer(), []
    for _ in range(200):
        text = writer.text(3, 5)
        sentence = text.split(". ")[writer.number(3)]
        number = sentence.removesuffix(".").split()[-2]
        asked = f"{text}\n\nHow often? {' '.join(sentence.split()[:-2])}?"
        rows.append({"prompt": asked, "completion": number})
    return looked_at(rows)


HEALTHY = Healthy(
    "each answer stands in its prompt",
    looks_like=("DAT066",),
    steps=0,
)
