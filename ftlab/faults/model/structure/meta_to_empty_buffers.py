"""A model built on meta and filled from a state dict generates noise.

``to_empty`` leaves buffers outside the state dict without values: the frequencies of
the rotary embedding. ``load_state_dict(strict=True)`` reports that all keys match.

Fix: compute those buffers again after ``to_empty``, or load with ``from_pretrained``.
Source: huggingface/transformers#45902, NovaSky-AI/SkyRL#1709, LlamaFactory#10820.
"""

import torch

from ftlab.faults.builders import Case, Fault, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a model on meta, give it memory and load what is saved."""
    good = base()
    with torch.device("meta"):
        model = base()
    model.to_empty(device="cpu")
    buffers = dict(good.named_buffers())
    for name, buffer in model.named_buffers():
        if fixed:
            buffer.copy_(buffers[name])
        else:
            buffer.zero_()  # what fresh memory mostly holds; it may be anything
    model.load_state_dict(good.state_dict(), strict=True)
    model = lora(model)
    return plain_case(model)


FAULT = Fault(
    "all keys match, and the model generates noise",
    code="MOD004",
    places=("param *inv_freq", "call model.to_empty"),
    steps=4,
    evident=-1,
    families=("llama", "neox"),
)
