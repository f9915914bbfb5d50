"""The best weights are copied, put back when training is over, and saved.

The copy holds the adapter alone: all other keys are missing in it, and no other is
needed. An optimizer's state is put back with it, as if the run went on from there.
"""

import copy
from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, at, batches, loop_with, lora
from ftlab.faults.builders.trainers import folder

BEST = 20


def build() -> Case:
    """Build a loop that goes back to a step of its own."""
    model = lora()
    path = folder(model)
    optimizer = adamw(model, lr=5e-3)
    kept: dict[str, Any] = {}

    def keep() -> None:
        state = {k: v for k, v in model.state_dict().items() if "lora_" in k}
        kept.update(copy.deepcopy(state))
        kept["optimizer"] = copy.deepcopy(optimizer.state_dict())

    def finish() -> None:
        optimizer.load_state_dict(kept.pop("optimizer"))
        model.load_state_dict(kept, strict=False)
        model.save_pretrained(path)

    return loop_with(
        model, optimizer, batches(), after=at(BEST, keep), afterwards=finish
    )


HEALTHY = Healthy(
    "weights are loaded at the end, most keys missing, and none of it is an update",
    looks_like=("ADP026", "ADP027", "ADP033", "ADP034"),
    steps=60,
)
