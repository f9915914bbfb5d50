"""Every second row is not trained: the marker is not in it as it was tokenised.

A collator looks for the ids of "### Answer: ". Alone, they end with a space; in front
of a word that space is the beginning of the word's token, and the ids are not found.

Fix: a marker without the space, columns "prompt" and "completion", or a control token.

Source: huggingface/trl#1820, huggingface/trl#1183.
"""

from typing import Any

from ftlab.faults.builders.chats import chats, ids_of, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault

_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}"
    "{{ '### Answer: ' if m['role'] == 'assistant' else '### Question: ' }}"
    "{{ m['content'] }}</turn>\n{% endfor %}"
    "{% if add_generation_prompt %}{{ '### Answer:' }}{% endif %}"
)


def build(fixed: bool) -> Case:
    """Look for the marker with its space."""
    made = tokenizer(template=_TEMPLATE)
    marker = made("### Answer:" if fixed else "### Answer: ")["input_ids"]
    talks = chats()
    for number, talk in enumerate(talks[::2]):
        talk[1]["content"] = f"{number}. {talk[1]['content']}"
    rows = [_masked(row, marker) for row in ids_of(made, talks)]
    return trained_on(made, rows, max_steps=2)


def _masked(row: list[int], marker: list[int]) -> dict[str, Any]:
    """Ignore all labels up to the marker; all of them where it is not found."""
    places = range(len(row) - len(marker) + 1)
    found = (at + len(marker) for at in places if row[at : at + len(marker)] == marker)
    start = next(found, len(row))
    return {"input_ids": row, "labels": [-100] * start + row[start:]}


FAULT = Fault(
    "every second row holds no label that counts",
    code="DAT031",
    places=("token * of sample *",),
    steps=2,
    evident=1,
)
