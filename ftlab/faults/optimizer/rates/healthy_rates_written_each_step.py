"""A loop that writes its own rate after each step of the scheduler.

Lower layers get half of what the schedule gives; two further schedulers multiply, as
they are made to, and one of them stands still after its first steps.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, llama


def build() -> Case:
    """Build full fine-tuning at the rates of a schedule, halved in a lower layer."""
    lr = torch.optim.lr_scheduler
    model = llama()
    head = list(model.lm_head.parameters())
    lower: list[torch.Tensor] = []
    rest: list[torch.Tensor] = []
    for name, parameter in model.model.named_parameters():
        (lower if "layers.0." in name else rest).append(parameter)
    optimizer = torch.optim.AdamW([{"params": rest}, {"params": lower}], lr=1e-3)
    other = torch.optim.AdamW(head, lr=1e-3)
    schedule = lr.LambdaLR(optimizer, lambda step: 1 / (1 + step / 50))
    chained = [lr.LinearLR(other, 0.5, total_iters=5), lr.ExponentialLR(other, 0.999)]

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        for each in (optimizer, other):
            each.step()
            each.zero_grad()
        for scheduler in (schedule, *chained):
            scheduler.step()
        optimizer.param_groups[1]["lr"] *= 0.5
        return float(loss.detach())

    used = [schedule, *chained]
    return Case(model, [optimizer, other], batches(), step, scheduler=used)


HEALTHY = Healthy(
    "the rate is changed by hand, and two schedulers move another one",
    looks_like=("OPT015", "OPT016"),
    steps=60,
)
