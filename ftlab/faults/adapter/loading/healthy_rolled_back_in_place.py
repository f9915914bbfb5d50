"""A run goes back to an earlier step through a state dict that is filled in place.

``torch.distributed.checkpoint.load`` works so: it writes into the tensors of a state
dict, which are the model's own, and ``load_state_dict`` then has nothing left to do.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, loop_with, lora

SAVED, BACK = 20, 40


def build() -> Case:
    """Build a loop with a rollback in it."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    own = {k: v for k, v in model.state_dict().items() if "lora_" in k}
    stored: dict[str, torch.Tensor] = {}

    def before(done: int) -> None:
        if done == SAVED:
            stored.update({key: value.clone() for key, value in own.items()})
        if done == BACK:
            for key, value in own.items():
                value.copy_(stored[key])
            model.load_state_dict(own, strict=False)

    return loop_with(model, optimizer, batches(), before=before)


HEALTHY = Healthy(
    "a state dict of the model's own memory is loaded into it",
    looks_like=("ADP033", "ADP001", "GRD002"),
    steps=80,
)
