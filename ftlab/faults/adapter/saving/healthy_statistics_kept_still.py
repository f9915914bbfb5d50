"""LoRA on convolutions whose batch norms stay in evaluation mode, on purpose.

Their statistics are those of pretraining, in training and in evaluation.
"""

from typing import Any

from torch import nn

from ftlab.faults.builders import Case, Healthy, adamw, folder, lora, plain_step
from ftlab.faults.builders.convolutions import convolutions
from ftlab.faults.builders.zoo import pictures


def build() -> Case:
    """Build LoRA on convolutions and switch the norms to evaluation in each step."""
    model = lora(
        convolutions(),
        target_modules=["first", "second"],
        modules_to_save=["verdict"],
    )
    optimizer = adamw(model, lr=1e-3)
    inner, path = plain_step(model, optimizer), folder(model)

    def step(batch: Any) -> float:
        model.train()
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return inner(batch)

    return Case(
        model,
        optimizer,
        pictures(),
        step,
        afterwards=lambda: model.save_pretrained(path),
    )


HEALTHY = Healthy(
    "batch norms are in evaluation mode while the rest trains",
    looks_like=("ADP044", "MOD006"),
    steps=60,
)
