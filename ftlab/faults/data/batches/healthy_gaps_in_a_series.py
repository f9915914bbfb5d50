"""A series has gaps, marked by NaN, which the model replaces before it reads them."""

import torch
from torch import nn

from ftlab.faults.builders import Case, Healthy, current, plain_case, set_seed

LENGTH = 16


class Gapped(nn.Module):
    """Predicts the sum of a series of which some values are missing."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2 * LENGTH, 32), nn.Tanh(), nn.Linear(32, 1)
        )

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Read the values, 0 in a gap, and where the gaps are."""
        gaps = values.isnan()
        known = values.nan_to_num()
        return self.layers(torch.cat([known, gaps.float()], 1)).squeeze(1)


def build() -> Case:
    """Leave a tenth of the values out."""
    set_seed(0)
    model = Gapped()
    drawn = torch.Generator().manual_seed(current().seed)
    rows = []
    for _ in range(8):
        values = torch.randn(8, LENGTH, generator=drawn)
        wanted = values.mean(1)
        values[torch.rand(values.shape, generator=drawn) < 0.1] = torch.nan
        rows.append({"values": values, "wanted": wanted})

    def loss_of(row: dict[str, torch.Tensor]) -> torch.Tensor:
        return (model(row["values"]) - row["wanted"]).pow(2).mean()

    return plain_case(model, rows=rows, loss_of=loss_of)


HEALTHY = Healthy(
    "the inputs hold NaN, and the model knows what to do with it",
    looks_like=("DAT005", "NUM001"),
    steps=40,
)
