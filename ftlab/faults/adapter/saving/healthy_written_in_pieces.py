"""What was trained is written in pieces: each file has a part, together they have all.

Every few steps one factor is written for a look at it, as LoRA's authors did. In the
end A, B and the head go to files of their own.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, loop_with, lora
from ftlab.faults.builders.heads import own_head
from ftlab.faults.builders.trainers import folder

LOOK = 10


def build() -> Case:
    """Build LoRA with a trained head, written part by part."""
    bare = base()
    head = own_head(bare)
    model: Any = lora(bare, modules_to_save=[head])
    path = folder(model)
    optimizer = adamw(model, lr=5e-3)

    def write(part: str, name: str) -> None:
        state = model.state_dict().items()
        torch.save({k: v for k, v in state if part in k}, path / name)

    def after(done: int) -> None:
        if done % LOOK == LOOK - 1:
            write("lora_A", f"look {done}.pt")

    def finish() -> None:
        for part in ("lora_A", "lora_B", f"{head}.modules_to_save"):
            write(part, f"{part}.pt")

    return loop_with(model, optimizer, batches(), after=after, afterwards=finish)


HEALTHY = Healthy(
    "no file has all that was trained",
    looks_like=("ADP055", "ADP020", "ADP028"),
    steps=40,
)
