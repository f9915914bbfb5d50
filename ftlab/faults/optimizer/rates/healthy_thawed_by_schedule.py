"""Layers that are thawed in turn by their schedules: a rate of 0 until then.

Each group has a schedule of its own that gives 0 for a while; a last group is frozen
for good by a rate of 0, as some like to do it.
"""

from collections.abc import Callable

import torch

from ftlab.faults.builders import Case, Healthy, llama, loop_case

EVERY = 20


def from_turn(turn: int) -> Callable[[int], float]:
    """Return a schedule that is 0 until its turn has come, and then 1."""
    return lambda step: float(step >= turn * EVERY)


def build() -> Case:
    """Build full fine-tuning with a group per part, from the head down."""
    model = llama(num_hidden_layers=3)
    layers = list(model.model.layers)
    parts = [model.lm_head, model.model.norm, *reversed(layers)]
    groups = [{"params": list(part.parameters()), "lr": 1e-3} for part in parts]
    groups.append({"params": list(model.model.embed_tokens.parameters()), "lr": 0.0})
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
    turns = [from_turn(turn) for turn in range(len(groups))]
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, turns)
    return loop_case(model, optimizer, scheduler=schedule)


HEALTHY = Healthy(
    "groups have a learning rate of 0, some until their turn and one for good",
    looks_like=("OPT005", "NUM002", "OPT003"),
    steps=130,
)
