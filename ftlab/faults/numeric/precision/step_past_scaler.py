"""optimizer.step() where scaler.step(optimizer) belongs.

The loss is scaled and nobody divides the gradients: they are 65536 times too large.
Adam hides it, and no overflow is skipped any more.

Fix: ``scaler.step(optimizer)``.
Source: torch.amp, "Gradient Scaling" (scaler.step unscales and calls the step).
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, lora, updated_by


def build(fixed: bool) -> Case:
    """Build LoRA with AdamW."""
    model = lora(base())
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)

    def update() -> None:
        if fixed:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()

    return updated_by(update, model, optimizer, dtype=torch.bfloat16, scaler=scaler)


FAULT = Fault(
    "gradients are thousands of times too large",
    code="NUM006",
    places=("call optimizer.step",),
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
