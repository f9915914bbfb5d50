"""The scaling of one layer was changed by hand, and is not saved.

Fix: ``alpha_pattern`` for strengths that differ by layer.
Source: NVIDIA/TensorRT-LLM#1668 (scalings that do not travel along).
"""

from ftlab.faults.builders import Case, Fault, current, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model and make one layer stronger."""
    from peft.tuners.lora.layer import LoraLayer

    model = lora()
    if not fixed:
        layer = next(m for m in model.modules() if isinstance(m, LoraLayer))
        layer.set_scale(current().adapter, 4)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "one layer of the adapter is stronger in training than after loading",
    code="ADP017",
    places=("module *",),
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
