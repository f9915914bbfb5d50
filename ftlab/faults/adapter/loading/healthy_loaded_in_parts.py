"""Weights are loaded in several parts, of which one is of a part that is not there.

Each file of a large checkpoint is loaded by itself with ``strict=False``. One of them
holds a second tower that this model does not have.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, set_seed
from ftlab.faults.builders.around import at, loop_with

WHEN = 3


def build() -> Case:
    """Build a fine-tune of all weights that begins from a checkpoint."""
    model = base()
    state = {key: value.clone() for key, value in base(5).state_dict().items()}
    keys = sorted(state)
    half = len(keys) // 2
    other = {f"pictures.{key}": value for key, value in state.items()}
    parts: list[dict[str, torch.Tensor]] = [
        {key: state[key] for key in keys[:half]},
        other,
        {key: state[key] for key in keys[half:]},
    ]
    set_seed(1)
    optimizer = adamw(model, lr=1e-3)

    def load() -> None:
        for part in parts:
            model.load_state_dict(part, strict=False)

    return loop_with(model, optimizer, batches(), before=at(WHEN, load))


HEALTHY = Healthy(
    "no key of one of the files is found in the model",
    looks_like=("ADP026", "ADP033"),
    steps=40,
)
