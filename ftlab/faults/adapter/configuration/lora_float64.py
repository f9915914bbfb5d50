"""The adapter's weights came back from NumPy in float64.

PEFT casts its input up and its output down in every forward, so nothing fails.

Fix: ``torch.from_numpy(array).float()``.
Source: huggingface/peft#1172, #2421 (mixed dtypes).
"""

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model and put weights from NumPy into it."""
    model = lora()
    for name, module in list(model.named_modules()):
        if ("lora_A." in name or "lora_B." in name) and hasattr(module, "weight"):
            array = module.weight.detach().numpy().astype("float64")
            weight = torch.from_numpy(array)
            module.weight = torch.nn.Parameter(weight.float() if fixed else weight)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "training is several times slower and the file twice as large",
    code="ADP019",
    places=("param *.lora_*",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
