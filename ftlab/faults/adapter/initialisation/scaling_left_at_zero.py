"""The scaling of a layer was set to 0 for an ablation, and not set back.

Fix: ``layer.set_scale(adapter, 1)``, or ``unscale_layer()``.
Source: peft's ``LoraLayer.scale_layer``, used by hand.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model and switch its first block off."""
    from peft.tuners.lora.layer import LoraLayer

    model = lora()
    if not fixed:
        for name, module in model.named_modules():
            if ".0." in name and isinstance(module, LoraLayer):
                module.scale_layer(0)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "after an ablation some layers of the adapter do not learn",
    code="ADP011",
    places=("module *.0.*",),
    steps=20,
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
