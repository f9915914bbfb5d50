"""Gradient checkpointing was switched on, and memory is as high as without it.

``from_pretrained`` returns a model in evaluation mode, and the loop never calls
``train()``. transformers computes blocks again in training mode only.

Fix: ``model.train()`` before the loop.
Source: transformers `modeling_layers.py` (GradientCheckpointingLayer); measured.
"""

from ftlab.faults.builders import Case, Fault, base, plain_case


def build(fixed: bool) -> Case:
    """Train a model with checkpointing as from_pretrained returns it."""
    model = base().eval()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    if fixed:
        model.train()
    return plain_case(model)


FAULT = Fault(
    "gradient checkpointing saves nothing",
    code="MOD006",
    places=("call model.eval",),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
