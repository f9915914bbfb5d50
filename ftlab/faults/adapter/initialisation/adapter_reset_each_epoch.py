"""``reset_lora_parameters`` stands in the loop over epochs, and not before it.

At each epoch B is 0 again: what was learned is thrown away, and only the last epoch is
saved. The optimizer goes on with moments of weights that are gone.

Fix: reset an adapter where it is made; for ReLoRA merge it before.
Source: loops made of ReLoRA's without its merge; a callback that resets any adapter,
IA3's vectors as well.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, loop_with, lora

EPOCH = 8


def build(fixed: bool) -> Case:
    """Build a LoRA model, and a loop that resets it after each epoch."""
    model = lora()
    optimizer = adamw(model, lr=1e-2)

    def before(done: int) -> None:
        if not fixed and done and done % EPOCH == 0:
            reset(model)

    return loop_with(model, optimizer, batches(EPOCH), before=before)


def reset(model: Any) -> None:
    """Set every LoRA layer back to its start."""
    from peft.tuners.lora import LoraLayer

    for module in model.modules():
        if isinstance(module, LoraLayer):
            for adapter in module.lora_A:
                module.reset_lora_parameters(adapter, True)


FAULT = Fault(
    "the loss begins anew at each epoch",
    code="ADP037",
    places=("module *",),
    steps=28,
    evident=8,
    families=("llama", "gpt2", "neox", "own"),
)
