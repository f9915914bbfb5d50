"""Reentrant checkpointing done right: the input hook is there.

The output of the frozen embedding requires a gradient, on purpose; the embedding's own
weight has none.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA with reentrant checkpointing."""
    model = lora()
    model.gradient_checkpointing_enable({"use_reentrant": True})
    model.enable_input_require_grads()  # transformers 5 does it by itself
    model.train()
    return plain_case(model)


HEALTHY = Healthy(
    "reentrant checkpointing over a frozen embedding",
    looks_like=("GRD003",),
)
