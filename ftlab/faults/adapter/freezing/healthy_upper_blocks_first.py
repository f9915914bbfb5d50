"""The adapters of the upper blocks are trained first, the lower ones from a step on.

One optimizer holds all of them from the start; what waits is frozen.
"""

from ftlab.faults.builders import Case, Healthy, adamw, batches, llama, lora
from ftlab.faults.builders.around import at, loop_with

WAITS = 25
"""Steps before which the lower blocks are frozen."""


def build() -> Case:
    """Build LoRA on four blocks, of which two wait."""
    model = lora(llama(num_hidden_layers=4))
    optimizer = adamw(model, lr=5e-3)
    lower = [
        parameter
        for name, parameter in model.named_parameters()
        if "lora_" in name and (".layers.0." in name or ".layers.1." in name)
    ]
    for parameter in lower:
        parameter.requires_grad_(False)

    def thaw() -> None:
        for parameter in lower:
            parameter.requires_grad_(True)

    return loop_with(model, optimizer, batches(), before=at(WAITS, thaw))


HEALTHY = Healthy(
    "half of the adapter is frozen at 0 for a while, and has no moments until then",
    looks_like=("ADP010", "ADP001", "GRD003"),
    steps=60,
)
