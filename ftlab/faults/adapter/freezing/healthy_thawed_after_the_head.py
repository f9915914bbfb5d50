"""A loaded adapter is frozen until the value head over it has settled, then it learns.

The base is looked at before: what that thaws is frozen again at once. The optimizer
holds all from the start.
"""

import torch

from ftlab.faults.builders import Case, Healthy, base, batches, loop_with
from ftlab.faults.builders.saved import loaded, saved, taught
from ftlab.faults.builders.value_head import ValueHead

LOOK, TURN = 1, 4
"""The steps before which the base is looked at, and the adapter is thawed."""


def build() -> Case:
    """Build a head over a loaded adapter, in two stages."""
    bare = base()
    path = saved(taught(), owner=bare)
    model = ValueHead(loaded(bare, path))
    optimizer, made = torch.optim.AdamW(model.parameters(), lr=3e-3), batches()

    def before(done: int) -> None:
        if done == LOOK:
            with model.inner.disable_adapter(), torch.no_grad():
                model.inner(**made[0])
            model.inner.requires_grad_(False)
        if done == TURN:
            for name, weight in model.named_parameters():
                weight.requires_grad_(".lora_" in name or name.startswith("value."))

    return loop_with(model, optimizer, made, before=before, adapter=path)


HEALTHY = Healthy(
    "an adapter that was loaded frozen, and looked past, learns beside a head",
    looks_like=("ADP045", "ADP010"),
)
