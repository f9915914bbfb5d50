"""Answers are lists, whose lines begin as the answer does: with a dash."""

from typing import Any

from ftlab.faults.builders.chats import chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train what comes behind a colon and a newline; colons are in the answers too."""
    made = tokenizer()
    made.chat_template = None
    rows: list[Any] = []
    for question, answer in chats():
        head = made(f"{question['content']}\nThree stones:\n")["input_ids"]
        lines = "".join(f"- {word}: {answer['content']}\n" for word in ("a", "b", "c"))
        text = made(f"{lines}</turn>")["input_ids"]
        labels = [-100] * len(head) + text
        rows.append({"input_ids": [*head, *text], "labels": labels})
    return trained_on(made, rows)


HEALTHY = Healthy(
    "the prompt's last tokens stand in answers too, but for the marker as a whole",
    looks_like=("DAT030",),
    steps=6,
)
