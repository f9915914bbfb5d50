"""A loop that freezes the lower blocks freezes their adapters as well.

They keep B = 0: they cost time and memory in every step and add nothing.

Fix: ``layers_to_transform`` says which blocks shall carry adapters.
Source: a loop over the first blocks, from recipes of full fine-tuning.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model and freeze its first block."""
    model = lora()
    if not fixed:
        for name, parameter in model.named_parameters():
            if ".0." in name:
                parameter.requires_grad_(False)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "half of the adapter is still 0 when it is saved",
    code="ADP010",
    places=("param *.lora_B.*",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
