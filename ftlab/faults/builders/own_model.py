"""A language model of one's own, as a research group would have written it."""

from typing import Any, NamedTuple

import torch
from torch import nn


class Answer(NamedTuple):
    """What the model gives: the loss, where there were labels, and the logits."""

    loss: torch.Tensor | None
    logits: torch.Tensor


class OwnModel(nn.Module):
    """Causal attention and a feed-forward part in each floor of a tower.

    Parameters
    ----------
    words
        Size of the vocabulary.
    width
        Hidden size.
    depth
        Number of floors.
    """

    def __init__(self, words: int, width: int, depth: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.tower = nn.ModuleList(Floor(width) for _ in range(depth))
        self.verdict = nn.Linear(width, words, bias=False)

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        **_: Any,
    ) -> Answer:
        """Predict the next token."""
        hidden = self.words(input_ids) if inputs_embeds is None else inputs_embeds
        for floor in self.tower:
            hidden = floor(hidden)
        logits = self.verdict(hidden)
        if labels is None:
            return Answer(None, logits)
        flat = logits[:, :-1].reshape(-1, logits.size(-1))
        loss = nn.functional.cross_entropy(flat, labels[:, 1:].reshape(-1))
        return Answer(loss, logits)


class Floor(nn.Module):
    """One block: attention with one head, then a feed-forward part."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.calm = nn.LayerNorm(width)
        self.look = nn.Linear(width, 2 * width)
        self.tell = nn.Linear(width, width)
        self.squeeze = nn.Linear(width, 2 * width)
        self.grow = nn.Linear(2 * width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Look at what came before, then think about it."""
        calm = self.calm(hidden)
        query, key = self.look(calm).chunk(2, -1)
        seen = nn.functional.scaled_dot_product_attention(
            query, key, self.tell(calm), is_causal=True
        )
        hidden = hidden + seen
        return hidden + self.grow(nn.functional.gelu(self.squeeze(hidden)))
