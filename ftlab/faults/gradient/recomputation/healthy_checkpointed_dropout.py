"""Dropout under gradient checkpointing: both passes draw the same masks.

Modules run twice per step, the second time within backward, and give the same.
"""

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case


def build() -> Case:
    """Build LoRA with dropout and reentrant checkpointing."""
    model = lora(llama(attention_dropout=0.1), lora_dropout=0.1)
    model.enable_input_require_grads()
    model.gradient_checkpointing_enable({"use_reentrant": True})
    model.train()
    return plain_case(model, lr=2e-3)


HEALTHY = Healthy(
    "modules that draw random numbers run twice in a step",
    looks_like=("GRD004", "GRD003"),
)
