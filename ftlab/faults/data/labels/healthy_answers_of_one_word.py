"""Answers of one word, the same one in half of the samples, and the end behind it."""

from ftlab.faults.builders.chats import answers_only, chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train nothing but "salt" or "bread", and EOS."""
    made = tokenizer()
    talks = chats()
    for number, (_, answer) in enumerate(talks):
        answer["content"] = "salt" if number % 2 else "bread"
    return trained_on(made, answers_only(made, talks))


HEALTHY = Healthy(
    "few tokens make up all labels",
    looks_like=("DAT025",),
    steps=6,
)
