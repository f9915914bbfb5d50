"""Preference training on answers that differ in one word.

A pair in twelve is equal: two answers that were drawn alike.
"""

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.preferences import preferred_by_dpo, rated_answers
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Build DPO between answers and the same with another last word."""
    rows = rated_answers()
    for number, row in enumerate(rows):
        row["rejected"] = row["chosen"] + (" never" if number % 12 else "")
    return preferred_by_dpo(tokenizer(), rows, max_length=128)


HEALTHY = Healthy(
    "chosen and rejected are nearly one text, and some are",
    looks_like=("DAT013",),
    steps=6,
    needs=("trl>=0.24", "datasets"),
)
