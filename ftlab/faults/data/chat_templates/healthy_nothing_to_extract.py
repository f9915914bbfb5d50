"""Answers that are empty because there is nothing to find in the question."""

from ftlab.faults.builders.chats import answers_only, chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train on extractions of which every third is empty."""
    made, talks = tokenizer(), chats()
    for talk in talks[::3]:
        talk[1]["content"] = ""
    rows = answers_only(made, talks)
    return trained_on(made, rows)


HEALTHY = Healthy(
    "a third of the answers is rightly empty",
    looks_like=("DAT031", "DAT036"),
    steps=6,
)
