"""A prompt and its answer are tokenised apart, and meet within a word."""

from ftlab.faults.builders.chats import labelled, trained_on
from ftlab.faults.builders.prose import some, tokenizer
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train on paragraphs that were cut in two before they were tokenised."""
    made = tokenizer()
    end = [made.eos_token_id]
    halves = [(text[:99], text[99:]) for text in some()]
    rows = [[i for half in each for i in made(half)["input_ids"]] for each in halves]
    rows = [[*row, *end] for row in rows]
    return trained_on(made, labelled(rows))


HEALTHY = Healthy(
    "ids that do not come back as they were, at one place of each row",
    looks_like=("DAT028",),
    steps=6,
)
