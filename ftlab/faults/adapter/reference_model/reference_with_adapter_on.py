"""The reference pass of a LoRA runs with the adapter on: it is the policy once more.

``ref_model = model``, or a ``disable_adapter`` that was forgotten. Nothing is raised,
and the model does move: with a slope of one half, away from anything that holds it.

Fix: ``with torch.no_grad(), model.disable_adapter():`` for the reference pass.
Source: huggingface/trl#2046, #1311.
"""

from ftlab.faults.builders import Case, Fault, lora
from ftlab.faults.builders.preferences import near_itself


def build(fixed: bool) -> Case:
    """Build DPO of a LoRA that is its own reference."""
    model = lora()
    return near_itself(model, model, off=fixed)


FAULT = Fault(
    "the loss stays at 0.6931 from the first step to the last",
    code="ADP031",
    places=("object reference",),
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
