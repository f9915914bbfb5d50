"""The new head's group has a learning rate of 0, and a schedule that multiplies it.

A rate per group is read by name, and the head's name is not among them: the default is
0. The adapter learns on a head that stays as it was drawn.

Fix: give the head's group a learning rate.
Source: seed; layer-wise learning rates by a dictionary of names.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, current, loop_case, lora


def build(fixed: bool) -> Case:
    """Build LoRA with a kept head in a group of its own."""
    bare = base()
    heads = {"llama": "lm_head", "gpt2": "lm_head", "neox": "embed_out"}
    head = heads.get(current().family, "verdict")
    if not hasattr(bare, head):
        head = "lm_head"
    model = lora(bare, modules_to_save=[head])
    rates = {"lora": 1e-3} | ({head: 1e-3} if fixed else {})
    weights = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    groups = [
        {"params": [p for n, p in weights if key in n], "lr": rates.get(key, 0.0)}
        for key in ("lora", head)
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)
    return loop_case(model, optimizer, scheduler=schedule)


FAULT = Fault(
    "the new head keeps the values that it was drawn with",
    code="OPT005",
    places=("optimizer lr",),
    steps=12,
    evident=1,
    families=("llama", "neox", "own"),
)
