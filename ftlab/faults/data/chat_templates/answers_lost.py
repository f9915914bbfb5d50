"""Some rows have an empty answer, and the model learns to end at once.

An export has lost the answers of some rows. What is left of them to train is the end.

Fix: leave rows out whose answer is empty.

Source: tatsu-lab/stanford_alpaca#265.
"""

from ftlab.faults.builders.chats import answers_only, chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Lose every fourth answer."""
    made, talks = tokenizer(), chats()
    for talk in [] if fixed else talks[::4]:
        talk[-1]["content"] = ""
    rows = answers_only(made, talks)
    return trained_on(made, rows, max_steps=2)


FAULT = Fault(
    "some answers are empty, and their end is trained",
    code="DAT031",
    places=("token * of sample *",),
    steps=2,
    evident=1,
)
