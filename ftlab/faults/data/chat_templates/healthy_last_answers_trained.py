"""A history without reasoning whose answers have no labels."""

from ftlab.faults.builders.chats import last_answers_only, reasoned, trained_on
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train the last answer of each conversation, the only one with a reasoning."""
    made, talks = reasoned(turns=3)
    rows = last_answers_only(made, talks)
    return trained_on(made, rows)


HEALTHY = Healthy(
    "earlier answers have lost their reasoning, and are not trained",
    looks_like=("DAT036", "DAT031"),
    steps=6,
)
