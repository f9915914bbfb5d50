"""scaler.update() after the step of each of two optimizers.

The second one divides gradients of this backward by the scale of the next, and the
scale grows twice as fast.

Fix: one ``scaler.update()``, when all optimizers have stepped.
Source: huggingface/accelerate#439, neosr-project/neosr#9.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, batches, lora, trainable


def build(fixed: bool) -> Case:
    """Build LoRA whose halves are held by two optimizers, and a scale that grows."""
    model = lora(base())
    parts = trainable(model)[::2], trainable(model)[1::2]
    optimizers = [torch.optim.AdamW(part, lr=1e-3) for part in parts]
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8, growth_interval=3)

    def step(batch: Any) -> float:
        for optimizer in optimizers:
            optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(**batch).loss
        scaler.scale(loss).backward()
        for optimizer, part in zip(optimizers, parts, strict=True):
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(part, 100.0)
            scaler.step(optimizer)
            if not fixed:
                scaler.update()
        if fixed:
            scaler.update()
        return float(loss.detach())

    return Case(model, optimizers, batches(), step, scaler=scaler)


FAULT = Fault(
    "gradients of one part of the model are half of what they should be, now and then",
    code="NUM006",
    places=("call scaler.update before scaler.step",),
    steps=10,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
