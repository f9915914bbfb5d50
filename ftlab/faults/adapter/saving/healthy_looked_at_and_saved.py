"""One factor is written now and then, and the adapter is saved in full in the end.

The optimizer's state goes to a file of its own, beside the folder of the adapter, and
nothing is missing when the run is over.
"""

from typing import Any

import torch
from safetensors.torch import save_file

from ftlab.faults.builders import Case, Healthy, adamw, batches, folder, loop_with, lora

LOOK = 10


def build() -> Case:
    """Build LoRA that is looked at while it is trained."""
    model: Any = lora()
    path = folder(model)
    optimizer = adamw(model, lr=5e-3)

    def after(done: int) -> None:
        if done % LOOK == LOOK - 1:
            state = model.state_dict().items()
            part = {k: v.clone() for k, v in state if "lora_A" in k}
            save_file(part, path / f"look {done}.safetensors")
            torch.save({}, path / "nothing yet.pt")

    def finish() -> None:
        torch.save(optimizer.state_dict(), path / "optimizer.pt")
        model.save_pretrained(path / "adapter")

    return loop_with(model, optimizer, batches(), after=after, afterwards=finish)


HEALTHY = Healthy(
    "files with half of an adapter, and moments in a file without weights",
    looks_like=("ADP055", "ADP020"),
    steps=40,
)
