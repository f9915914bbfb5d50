"""The model answers each prompt with the same token, again and again.

Labels of the prompt are 0 in place of -100. The loss ignores -100 alone: token 0 is
trained at each position of each prompt, and the loss falls as it should.

Fix: ``labels[:, :prompt] = -100``.

Source: torch, ``torch.nn.CrossEntropyLoss``, ``ignore_index`` is -100 unless it is set.
"""

from ftlab.faults.builders.chats import answers_only, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Fill the labels of prompts with another number."""
    made = tokenizer()
    rows = answers_only(made)
    for row in rows if not fixed else ():
        row["labels"] = [0 if each == -100 else each for each in row["labels"]]
    return trained_on(made, rows)


FAULT = Fault(
    "answers are one token, again and again",
    code="DAT025",
    places=("token 0 of sample *",),
    evident=-1,
)
