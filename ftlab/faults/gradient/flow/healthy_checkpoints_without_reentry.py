"""Gradient checkpointing without reentry, with dropout that must be drawn again.

Each layer's forward runs twice per step. Nothing needs a gradient at the input.
"""

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case


def build() -> Case:
    """Build LoRA with dropout under checkpointing."""
    model = lora(llama(attention_dropout=0.1), lora_dropout=0.1)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    model.train()
    return plain_case(model, lr=2e-3)


HEALTHY = Healthy(
    "every layer is called twice, its input needs no gradient",
    looks_like=("GRD003",),
)
