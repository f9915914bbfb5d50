"""Learning rates that are set by hand, a smaller one for each lower layer.

The embeddings' group has a learning rate of 0, which freezes them without any
``requires_grad``; no scheduler exists, the loop writes into the groups itself.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, llama
from ftlab.faults.builders.trainers import STEPS

HEIGHT = 2e-3


def build() -> Case:
    """Build full fine-tuning with a learning rate per layer."""
    model = llama(num_hidden_layers=3)
    parts = [
        (model.model.embed_tokens, 0.0),
        *((layer, 0.5 ** (2 - i)) for i, layer in enumerate(model.model.layers)),
        (model.model.norm, 1.0),
        (model.lm_head, 1.0),
    ]
    groups = [{"params": list(p.parameters()), "share": share} for p, share in parts]
    optimizer = torch.optim.AdamW(groups, lr=0.0, weight_decay=0.0)

    def step(batch: Any) -> float:
        done = len(case.losses) / STEPS
        for group in optimizer.param_groups:
            group["lr"] = HEIGHT * group["share"] * (1 - done)
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return float(loss.detach())

    case = Case(model, optimizer, batches(), step)
    return case


HEALTHY = Healthy(
    "one group has a learning rate of 0, another one falls at every step",
    looks_like=("OPT002", "NUM002", "OPT003"),
)
