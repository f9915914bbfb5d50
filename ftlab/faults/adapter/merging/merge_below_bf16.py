"""A small adapter is merged into a base in bf16, and most of it is lost.

A bf16 number has 8 bits: a change below 1/512 of the weight is dropped.

Fix: merge in float32, or keep the adapter apart.
Source: seed; huggingface/peft#2502 (merged and unmerged outputs differ).
"""

import torch

from ftlab.faults.builders import Case, Fault, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA with a small rate, merged when training is over."""
    model = lora(base() if fixed else base().to(torch.bfloat16))
    return plain_case(model, lr=1e-5, afterwards=lambda: model.merge_adapter())


FAULT = Fault(
    "the merged model is the base model again",
    code="ADP009",
    places=("module *.*", "call merge_adapter"),
    evident=5,
    families=("llama", "gpt2", "neox"),
)
