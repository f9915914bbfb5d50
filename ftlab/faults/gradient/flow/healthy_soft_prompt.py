"""Prompt tuning: the one trained tensor is a prompt of vectors.

The whole model below and above it is frozen, and the loss falls slowly.
"""

from ftlab.faults.builders import Case, Healthy, llama, plain_case


def build() -> Case:
    """Build prompt tuning with eight vectors."""
    from peft import PromptTuningConfig, get_peft_model

    config = PromptTuningConfig(num_virtual_tokens=8, task_type="CAUSAL_LM")
    model = get_peft_model(llama(), config)
    return plain_case(model, lr=3e-2)


HEALTHY = Healthy(
    "one tensor is trained, in no layer of the model",
    looks_like=("GRD003", "ADP001"),
)
