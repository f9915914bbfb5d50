"""Packed rows whose documents a 4-D mask keeps apart, while positions run on.

Rotary positions know distances only: where a document begins does not matter to them.
"""

from typing import Any

from ftlab.faults.builders.chats import sized, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


class Blocks:
    """Lays the rows of a batch end to end under a mask of blocks."""

    def __call__(self, rows: list[Any]) -> dict[str, Any]:
        """Make a batch of one row."""
        import torch

        parts = [torch.tensor(row["input_ids"]) for row in rows]
        ids = torch.cat(parts)[None]
        blocks = torch.block_diag(*(torch.ones(len(p), len(p)).tril() for p in parts))
        labels = torch.cat(
            [torch.cat((part[:1] * 0 - 100, part[1:])) for part in parts]
        )
        mask = blocks.bool()[None, None]
        return {"input_ids": ids, "labels": labels[None], "attention_mask": mask}


def build() -> Case:
    """Train on eight conversations in a row."""
    made = tokenizer()
    rows = whole(made)
    model = sized(made, max_position_embeddings=512)
    return trained_on(made, rows, Blocks(), model=model)


HEALTHY = Healthy(
    "packed rows that a mask of four dimensions keeps apart",
    looks_like=("DAT007", "DAT046"),
    steps=6,
)
