"""Some users have pasted a marker, and part of their question is trained.

A collator trains what comes behind ``### Answer:``, and takes the first one in a row.
Every fourth question holds one.

Fix: search the last marker, where a row holds one answer.

Source: huggingface/trl#1184, #3223: markers that do not stand where they are expected.
"""

from typing import Any

from ftlab.faults.builders.chats import chats, ids_of, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault

MARK = "\n### Answer:"


def build(fixed: bool) -> Case:
    """Search the first marker, or the last."""
    made = tokenizer()
    made.chat_template = None
    talks = [(q["content"], a["content"]) for q, a in chats()]
    texts = [
        f"{question} I have read{MARK} {answer} Is it so?{MARK} {answer}</turn>"
        if number % 4 == 0
        else f"{question}{MARK} {answer}</turn>"
        for number, (question, answer) in enumerate(talks)
    ]
    mark = made(MARK, add_special_tokens=False)["input_ids"]
    rows = [_masked(row, mark, last=fixed) for row in ids_of(made, texts)]
    return trained_on(made, rows)


def _masked(row: list[int], mark: list[int], *, last: bool) -> dict[str, Any]:
    """Ignore all labels up to a marker."""
    places = [at for at in range(len(row)) if row[at : at + len(mark)] == mark]
    start = (places[-1] if last else places[0]) + len(mark)
    return {"input_ids": row, "labels": [-100] * start + row[start:]}


FAULT = Fault(
    "the rest of some questions is trained",
    code="DAT030",
    places=("token * of sample *",),
)
