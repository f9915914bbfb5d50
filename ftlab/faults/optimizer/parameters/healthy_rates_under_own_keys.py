"""Groups that hold keys of the user's own, which the loop reads itself.

``lr_scale`` is a share of the rate, as in layer-wise decay; ``learning_rate`` is the
height from which the loop computes the head's ``lr`` in each step.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, base, batches, loop_with
from ftlab.faults.builders.heads import head

RATE, WARMUP = 1e-3, 8


def build() -> Case:
    """Build full fine-tuning under a warm-up that the loop makes."""
    model = base()
    faster = list(model.get_submodule(head(model)).parameters())
    known = {id(parameter) for parameter in faster}
    body = [p for p in model.parameters() if id(p) not in known]
    groups: list[dict[str, Any]] = [
        {"params": body, "lr_scale": 0.5, "learning_rate": RATE},
        {"params": faster, "lr_scale": 1.0, "learning_rate": 2 * RATE},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE / WARMUP)

    def before(done: int) -> None:
        factor = min(1.0, (done + 1) / WARMUP)
        for group in optimizer.param_groups:
            group["lr"] = group["learning_rate"] * group["lr_scale"] * factor

    return loop_with(model, optimizer, batches(), before=before)


HEALTHY = Healthy(
    "groups have keys that the optimizer does not read",
    looks_like=("OPT026",),
)
