"""Preference training with a second adapter as the reference, by hand.

The reference is a copy of the adapter as it was, frozen; the trained one begins with
what supervised training had made of it. The loss begins at log 2 and goes to 0.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, current, loop_case, seeded
from ftlab.faults.builders.preferences import log_chance
from ftlab.faults.builders.tiny import VOCABULARY, adamw, lora, trainable


def build() -> Case:
    """Build DPO between two adapters of one model."""
    model, own = lora(), current().adapter
    first = adamw(model, lr=5e-3)
    warm = loop_case(model, first)
    warm.run(10)
    learned = {
        n: p.detach().clone() for n, p in model.named_parameters() if "lora" in n
    }
    model.add_adapter("reference", model.peft_config[own])
    for name, weight in model.named_parameters():
        if ".reference." in name:
            weight.data.copy_(learned[name.replace(".reference.", f".{own}.")])
    model.set_adapter(own)
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-3)
    dice = seeded()

    def loss_of(batch: Any) -> torch.Tensor:
        good = batch["input_ids"]
        bad = torch.randint(3, VOCABULARY, good.shape, generator=dice)
        ids = torch.cat([good, bad])
        model.set_adapter("reference")
        with torch.no_grad():
            before = log_chance(model, ids)
        model.set_adapter(own)
        more, less = (log_chance(model, ids) - before).chunk(2)
        return -torch.nn.functional.logsigmoid(0.1 * (more - less)).mean()

    return loop_case(model, optimizer, loss_of=loss_of)


HEALTHY = Healthy(
    "one of two adapters is frozen, and active in half of the forwards",
    looks_like=("ADP001", "GRD003", "OPT002", "OPT001", "ADP008"),
)
