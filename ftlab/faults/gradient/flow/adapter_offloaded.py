"""The whole model is offloaded after LoRA was put on it, the adapter included.

Every forward computes with copies that are fetched for it. The loss can be computed,
backward runs, and not one tensor that the optimizer holds has a gradient.

Fix: offload the base model's frozen layers only, or do not offload.
Source: huggingface/accelerate#3770.
"""

from accelerate import cpu_offload

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Offload a model with LoRA."""
    model = lora().train()
    if not fixed:
        cpu_offload(model, execution_device="cpu")
    return plain_case(model)


FAULT = Fault(
    "the loss stays where it is, and no error is raised",
    code="GRD003",
    places=("config device_map",),
    steps=8,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
