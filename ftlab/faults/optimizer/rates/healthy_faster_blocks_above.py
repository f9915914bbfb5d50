"""Layer-wise rates the right way round, that a hand-written warm-up multiplies.

Four blocks have rates that rise by one factor towards the head, and from the first
update on the loop writes into the groups.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, llama, loop_with

BLOCKS, DECAY, RATE, WARMUP = 4, 0.5, 2e-3, 8


def build() -> Case:
    """Build full fine-tuning with a rate for each block."""
    model = llama(num_hidden_layers=BLOCKS)
    blocks = model.model.layers
    inside = {id(p) for p in blocks.parameters()}
    rest = [p for p in model.parameters() if id(p) not in inside]
    groups: list[dict[str, Any]] = [
        {"params": list(block.parameters()), "lr": RATE * DECAY ** (BLOCKS - 1 - k)}
        for k, block in enumerate(blocks)
    ]
    optimizer = torch.optim.AdamW([*groups, {"params": rest}], lr=RATE)
    made = [group["lr"] for group in optimizer.param_groups]

    def before(done: int) -> None:
        factor = min(1.0, (done + 1) / WARMUP)
        for group, rate in zip(optimizer.param_groups, made, strict=True):
            group["lr"] = rate * factor

    return loop_with(model, optimizer, batches(), before=before)


HEALTHY = Healthy(
    "each block has a rate of its own, and the first one learns the least",
    looks_like=("OPT018", "OPT019"),
)
