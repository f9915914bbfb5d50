"""A GradScaler that starts too high.

It overflows, skips the update, halves its scale and settles. Infinite gradients and
skipped steps at the beginning are how it finds its scale.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, lora, updated_by


def build() -> Case:
    """Build LoRA under fp16 autocast with a large initial scale and a scheduler."""
    model = lora(target_modules="all-linear", modules_to_save=["lm_head"])
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=1000)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.99**step)

    def update() -> None:
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= before:
            scheduler.step()

    return updated_by(
        update,
        model,
        optimizer,
        dtype=torch.float16,
        scheduler=scheduler,
        scaler=scaler,
    )


HEALTHY = Healthy(
    "infinite gradients and skipped updates at the beginning",
    looks_like=("NUM001", "GRD002", "ADP001", "OPT003"),
)
