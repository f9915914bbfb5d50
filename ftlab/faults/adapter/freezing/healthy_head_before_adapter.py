"""First the new head alone, then the adapter too: a random head would spoil it.

The adapter is frozen at 0 in the first phase; the optimizer holds it from the start.
"""

from ftlab.faults.builders import Case, Healthy, adamw, at, batches, loop_with, lora

ALONE = 25
"""Steps of the first phase."""


def build() -> Case:
    """Build LoRA with a head of its own that learns first."""
    model = lora(modules_to_save=["lm_head"])
    optimizer = adamw(model, lr=3e-3)
    pairs = [p for name, p in model.named_parameters() if "lora_" in name]
    for parameter in pairs:
        parameter.requires_grad_(False)

    def thaw() -> None:
        for parameter in pairs:
            parameter.requires_grad_(True)

    return loop_with(model, optimizer, batches(), before=at(ALONE, thaw))


HEALTHY = Healthy(
    "no pair of the adapter is trainable for a while, only the module that it keeps",
    looks_like=("ADP010", "ADP001", "GRD003"),
    steps=60,
)
