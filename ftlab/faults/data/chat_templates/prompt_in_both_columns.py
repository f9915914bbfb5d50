"""Prompts stand in a column of their own, and in front of each answer as well.

TRL puts the prompt before the completions, which are whole texts already: question and
question and answer. The second question is rated with the answers.

Fix: ``text.removeprefix(prompt)`` in the columns of answers, or no prompt column.

Source: TRL, documentation of dataset formats (explicit and implicit prompts).
"""

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.preferences import preferred_by_dpo, rated_answers
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Give whole texts as answers."""
    rows = rated_answers()
    if not fixed:
        for row in rows:
            row["chosen"] = row["prompt"] + row["chosen"]
            row["rejected"] = row["prompt"] + row["rejected"]
    return preferred_by_dpo(tokenizer(), rows, max_length=128)


FAULT = Fault(
    "prompt-in-both-columns",
    "each row holds its question twice",
    code="DAT022",
    places=("token * of sample *",),
    builder=build,
    steps=6,
    needs=("trl>=0.24", "datasets"),
)
