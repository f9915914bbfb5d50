"""An average of the weights is loaded for each evaluation, and the weights after it.

Both ways go through ``load_state_dict`` of the adapter's tensors alone.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, loop_with, lora

EVERY = 20


def build() -> Case:
    """Build LoRA with an average that is loaded and taken out again."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    rows = batches(9)
    average = _copied(model)

    @torch.no_grad()
    def evaluate() -> None:
        weights = _copied(model)
        model.load_state_dict(average, strict=False)
        model.eval()
        model(**rows[-1])
        model.train()
        model.load_state_dict(weights, strict=False)

    def after(done: int) -> None:
        for key, value in _adapter(model).items():
            average[key].lerp_(value, 0.1)
        if done % EVERY == EVERY - 1:
            evaluate()

    return loop_with(model, optimizer, rows[:-1], after=after)


def _adapter(model: Any) -> dict[str, torch.Tensor]:
    return {k: v for k, v in model.state_dict().items() if "lora_" in k}


def _copied(model: Any) -> dict[str, torch.Tensor]:
    return {key: value.clone() for key, value in _adapter(model).items()}


HEALTHY = Healthy(
    "weights are loaded in the middle of a run, twice at each evaluation",
    looks_like=("ADP026", "ADP033", "ADP007", "OPT001"),
    steps=80,
)
