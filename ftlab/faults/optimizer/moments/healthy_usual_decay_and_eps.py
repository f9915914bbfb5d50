"""Full fine-tuning as recipes have it: decay 0.1, eps 1e-6, betas 0.9 and 0.95.

The weights are decayed at each step, three quarters of the second moments lie below
1e-10, and the moments follow the gradients within 20 steps.
"""

import torch

from ftlab.faults.builders import Case, Healthy, base, loop_case


def build() -> Case:
    """Train all weights with the settings of large models' recipes, and amsgrad."""
    model = base()
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=3e-4,
        betas=(0.9, 0.95),
        eps=1e-6,
        weight_decay=0.1,
        amsgrad=True,
    )
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "decay, eps and short moments as in the recipes of large models",
    looks_like=("OPT021", "OPT022", "OPT025"),
)
