"""A question each, and yes, no or a number for an answer.

One question is a word that a column is called by.
"""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Answer each question in a word."""
    writer, words = Writer(), ("Yes", "No", "42", "Maybe.")
    rows = [
        {"prompt": writer.question(), "completion": words[writer.number(4)]}
        for _ in range(200)
    ]
    rows[7] = {"prompt": "Prompt", "completion": "Yes"}
    return looked_at(rows)


HEALTHY = Healthy(
    "answers are a word, and repeat",
    looks_like=("DAT057", "DAT058", "DAT061", "DAT066"),
    steps=0,
)
