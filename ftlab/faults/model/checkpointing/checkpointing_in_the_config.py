"""Checkpointing was switched on by an entry in the configuration of a built model.

Old recipes set ``model.config.gradient_checkpointing``. transformers reads the entry
while a model is built, and never again.

Fix: ``model.gradient_checkpointing_enable()``.
Source: transformers `modeling_utils.py` (post_init); measured.
"""

from ftlab.faults.builders import Case, Fault, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Switch checkpointing on for LoRA, by the entry or by the call."""
    model = base()
    if fixed:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    else:
        model.config.gradient_checkpointing = True
    model = lora(model).train()
    return plain_case(model)


FAULT = Fault(
    "gradient checkpointing was asked for, and memory is as high as before",
    code="MOD011",
    places=("config gradient_checkpointing",),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
