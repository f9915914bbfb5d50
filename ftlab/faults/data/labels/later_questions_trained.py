"""Some questions are trained, and the model goes on in the user's place.

The labels leave out what stands in front of the first answer. A conversation has more
than one turn, and everything behind that answer is trained: the next questions too.

Fix: a mask by turns: ``assistant_only_loss=True``, ``return_assistant_tokens_mask``.

Source: huggingface/transformers#47326 (a mask that runs on behind its span).
"""

from ftlab.faults.builders.chats import answers_only, chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Mask up to the first answer alone."""
    made = tokenizer()
    rows = answers_only(made, chats(turns=2))
    for row in [] if fixed else rows:
        first = next(n for n, label in enumerate(row["labels"]) if label != -100)
        row["labels"] = [-100] * first + row["input_ids"][first:]
    return trained_on(made, rows, max_steps=2)


FAULT = Fault(
    "questions behind the first answer are trained",
    code="DAT030",
    places=("token * of sample *",),
    steps=2,
    evident=1,
)
