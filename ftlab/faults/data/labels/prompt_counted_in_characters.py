"""Labels begin behind as many tokens as the prompt has characters.

The length of a string is taken for a number of tokens: most of each answer, or all of
it, has no label.

Fix: ``len(tokenizer(prompt)["input_ids"])``.

Source: huggingface/trl#1920 (places in a text taken for places in a row).
"""

from typing import Any

from ftlab.faults.builders.chats import chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault

SHORT = 12
"""Characters of the shortest question."""


def build(fixed: bool) -> Case:
    """Mask one token for each character of the prompt."""
    made = tokenizer(eos_token="</s>")
    rows: list[Any] = []
    for question, answer in chats(words=(12, 24)):
        asked = f"{question['content'][: SHORT + len(rows) % 5]}\n### Answer\n"
        prompt = made(asked)["input_ids"]
        ids = [*prompt, *made(answer["content"])["input_ids"], made.eos_token_id]
        count = min(len(prompt) if fixed else len(asked), len(ids) - 2)
        rows.append({"input_ids": ids, "labels": [-100] * count + ids[count:]})
    return trained_on(made, rows)


FAULT = Fault(
    "a prompt of 30 characters is taken for 30 tokens",
    code="DAT017",
    places=("token * of sample *",),
)
