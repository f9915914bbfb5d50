"""A hook masks the gradient of most rows, and nothing decays: they stay."""

import torch

from ftlab.faults.builders import VOCABULARY, Case, Healthy, base, loop_case
from ftlab.probes.tokens.token_tables import token_tables


def build() -> Case:
    """Train every eighth row of the embedding with momentum and without decay."""
    model = base()
    model.requires_grad_(False)
    words = next(each for each in token_tables(model) if not each.output)
    weight = words.weight.requires_grad_(True)
    learns = torch.arange(VOCABULARY)[:, None] % 8 == 0
    weight.register_hook(lambda gradient: gradient * learns)
    optimizer = torch.optim.AdamW([weight], lr=1e-2, weight_decay=0.0)
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "seven of eight rows have a gradient of exactly 0, and keep their values",
    looks_like=("OPT020", "GRD003"),
)
