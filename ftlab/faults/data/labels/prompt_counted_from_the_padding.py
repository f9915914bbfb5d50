"""Prompts are masked from the first column of rows that begin with padding.

The mask covers padding first, and ends as many tokens too early: the rest of the prompt
is trained in all rows but the longest.

Fix: mask from the row's first token on.

Source: transformers, ``padding_side="left"`` of tokenizers that serve generation.
"""

from typing import Any

import torch

from ftlab.faults.builders.chats import chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


class FromColumn:
    """Pads on the left, and masks prompts from column 0 or from where rows begin."""

    def __init__(self, made: Any, begun: bool) -> None:
        self._tokenizer = made
        self._begun = begun

    def __call__(self, given: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Make a batch."""
        rows = [{"input_ids": each["input_ids"]} for each in given]
        batch = self._tokenizer.pad(rows, return_tensors="pt")
        seen = batch["attention_mask"]
        labels = batch["input_ids"].masked_fill(seen == 0, -100)
        for number, row in enumerate(given):
            begin = int((seen[number] == 0).sum()) if self._begun else 0
            labels[number, begin : begin + row["asked"]] = -100
        positions = (seen.cumsum(1) - 1).clamp(min=0)
        return {**batch, "position_ids": positions, "labels": labels}


def build(fixed: bool) -> Case:
    """Count the prompt from column 0, or from where the row begins."""
    made = tokenizer(eos_token="</s>")
    made.padding_side = "left"
    rows = []
    for question, answer in chats(words=(9, 14)):
        prompt = made(f"{question['content']}\n### Answer\n")["input_ids"]
        ids = [*prompt, *made(answer["content"])["input_ids"], made.eos_token_id]
        rows.append({"input_ids": ids, "asked": len(prompt)})
    return trained_on(made, rows, FromColumn(made, fixed), remove_unused_columns=False)


FAULT = Fault(
    "the mask of each prompt covers the padding in front of it",
    code="DAT017",
    places=("token * of sample *",),
)
