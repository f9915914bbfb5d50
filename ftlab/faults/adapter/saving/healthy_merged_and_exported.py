"""When training is over the adapter is merged into its base, and that is saved.

The folder holds a whole model and no adapter, under the names that it had without
PEFT.
"""

import torch

from ftlab.faults.builders import Case, Healthy, folder, lora, plain_case


def build() -> Case:
    """Build LoRA that is exported in the end."""
    model = lora()
    path = folder(model)

    @torch.no_grad()
    def export() -> None:
        model.merge_and_unload().save_pretrained(path)

    return plain_case(model, lr=5e-3, afterwards=export)


HEALTHY = Healthy(
    "what is saved holds no adapter",
    looks_like=("ADP020", "ADP028", "ADP004"),
    steps=40,
)
