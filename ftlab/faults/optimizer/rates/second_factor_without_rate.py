"""LoRA+ with a ratio of 0: the group of the B factors has a learning rate of 0.

The ratio was read from a configuration in which it is a whole number. B stays at 0, and
with it what the adapter adds; a schedule multiplies and cannot lift it.

Fix: a ratio above 0; LoRA+ recommends 16.
Source: seed; LoRA+ with groups of one's own (peft `optimizers/loraplus.py` helps).
"""

import torch

from ftlab.faults.builders import Case, Fault, loop_case, lora

RATE = 1e-3


def build(fixed: bool) -> Case:
    """Build LoRA with a rate of its own for each factor, and a schedule."""
    model = lora()
    ratio = 16.0 if fixed else float(int(0.5))
    weights = dict(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for n, p in weights.items() if "lora_A" in n], "lr": RATE},
            {
                "params": [p for n, p in weights.items() if "lora_B" in n],
                "lr": RATE * ratio,
            },
        ],
        weight_decay=0.0,
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)
    return loop_case(model, optimizer, scheduler=schedule)


FAULT = Fault(
    "LoRA learns nothing, and the logged learning rate is right",
    code="OPT005",
    places=("optimizer lr",),
    steps=12,
    evident=1,
    also=("NUM003",),
    families=("llama", "gpt2", "neox", "own"),
)
