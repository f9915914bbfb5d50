"""``layers_to_transform`` counts from 1, or is meant for a deeper model.

Indices that no block has are dropped without a word.

Fix: indices from 0 to the number of blocks less 1.
Source: huggingface/peft#2155 (what layers_to_transform matches).
"""

from ftlab.faults.builders import Case, Fault, attention, base, current, lora
from ftlab.faults.builders.loops import plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model with indices that are one too high."""
    model = base()
    depth = current().depth
    layers = list(range(depth)) if fixed else list(range(1, depth + 1))
    model = lora(model, layers_to_transform=layers, target_modules=attention(model))
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the upper blocks were to be adapted and only some are",
    code="ADP012",
    places=("config layers_to_transform",),
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
