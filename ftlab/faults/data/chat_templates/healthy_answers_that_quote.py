"""Answers that begin with their question, behind prompts of several examples.

What stands before and behind a question in the prompt is not repeated.
"""

from ftlab.faults.builders.chats import chats, ids_of, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy

_EXAMPLE = "### Question\nthe {}?\n### Answer\nthe {}? by noon\n"
_FEW = "".join(_EXAMPLE.format(each, each) for each in ("year", "river", "light"))


def build() -> Case:
    """Quote the question of each text in its answer."""
    made = tokenizer(eos_token="</s>")
    rows = []
    for question, answer in chats():
        asked, said = question["content"], answer["content"]
        prompt = f"{_FEW}### Question\n{asked}\n### Answer\n"
        before, row = ids_of(made, [prompt, f"{prompt}{asked} {said}</s>"])
        labels = [-100] * len(before) + row[len(before) :]
        rows.append({"input_ids": row, "labels": labels})
    return trained_on(made, rows)


HEALTHY = Healthy(
    "each row holds its question twice",
    looks_like=("DAT022",),
    steps=6,
)
