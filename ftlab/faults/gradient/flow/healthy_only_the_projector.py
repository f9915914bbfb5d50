"""The first stage of a model that sees: only the projector is trained.

A frozen tower makes features of the picture, a frozen language model reads them, and
one small module between them is all that has gradients: 1 % of the parameters.
"""

from typing import Any

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, batches, current, llama, plain_case
from ftlab.faults.builders.zoo import pictures, vit


class Seer(nn.Module):
    """A language model that is shown a picture before the words."""

    def __init__(self) -> None:
        super().__init__()
        self.tower = vit().vit.requires_grad_(False)
        self.language = llama().requires_grad_(False)
        width = current().width
        self.projector = nn.Sequential(
            nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)
        )

    def forward(self, pixel_values: torch.Tensor, input_ids: torch.Tensor) -> Any:
        """Return the loss of predicting the words after the picture."""
        with torch.no_grad():
            seen = self.tower(pixel_values).last_hidden_state
        words = self.language.get_input_embeddings()(input_ids)
        both = torch.cat([self.projector(seen), words], 1)
        ignored = torch.full(seen.shape[:2], -100)
        labels = torch.cat([ignored, input_ids], 1)
        return self.language(inputs_embeds=both, labels=labels)


def build() -> Case:
    """Build a model that sees, with everything but its projector frozen."""
    torch.manual_seed(current().seed)
    model = Seer()
    pairs = list(zip(pictures(), batches(), strict=True))

    def loss_of(pair: Any) -> torch.Tensor:
        return model(pair[0]["pixel_values"], pair[1]["input_ids"]).loss

    return plain_case(model, lr=5e-3, rows=pairs, loss_of=loss_of)


HEALTHY = Healthy(
    "the lower half of the model runs without gradients",
    looks_like=("GRD003", "OPT002"),
)
