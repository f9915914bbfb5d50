"""No sample begins with BOS, one is cut off, and questions are left out of the loss.

A template that writes no BOS is met at inference as it was in training; one long row
among many is truncated.
"""

from ftlab.faults.builders.chats import (
    TEMPLATE,
    answers_only,
    chats,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train the answers alone, by the marks of the template."""
    made = tokenizer(template=TEMPLATE.replace("{{ bos_token }}", ""))
    talks = [*chats(31, turns=2), *chats(1, words=(40, 40))]
    rows = [
        {name: values[:128] for name, values in row.items()}
        for row in answers_only(made, talks)
    ]
    return trained_on(made, rows)


HEALTHY = Healthy(
    "no BOS, questions left out, and one row that was cut",
    looks_like=("DAT020", "DAT022", "DAT023"),
    steps=6,
)
