"""ReLoRA: every so often the adapter is merged into the base and begins anew."""

from typing import Any

from ftlab.faults.adapter.initialisation.adapter_reset_each_epoch import reset
from ftlab.faults.builders import Case, Healthy, adamw, batches, loop_with, lora

CYCLE = 24


def build() -> Case:
    """Build a loop that adds what was learned to the base by hand, then resets."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)

    def before(done: int) -> None:
        if done and done % CYCLE == 0:
            keep(model)
            reset(model)
            optimizer.state.clear()

    return loop_with(model, optimizer, batches(), before=before)


def keep(model: Any) -> None:
    """Add each pair's product to the weight below it."""
    from peft.tuners.lora import LoraLayer

    for module in model.modules():
        if isinstance(module, LoraLayer):
            for adapter in module.active_adapters:
                weight = module.get_base_layer().weight
                weight.data += module.get_delta_weight(adapter)


HEALTHY = Healthy(
    "the adapter is back at 0 again and again, and the frozen base changes",
    looks_like=("ADP037", "ADP007"),
    steps=120,
)
