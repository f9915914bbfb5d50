"""VeRA: all layers share two frozen random matrices; only two vectors per layer learn.

A and B are no parameters at all, and one of the vectors starts at 0.
"""

from ftlab.faults.builders import Case, Healthy, llama, plain_case


def build() -> Case:
    """Build VeRA on projections of one size."""
    from peft import VeraConfig, get_peft_model

    targets = ["q_proj", "o_proj"]
    config = VeraConfig(r=32, target_modules=targets, task_type="CAUSAL_LM")
    model = get_peft_model(llama(), config)
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "A and B are frozen, and a vector of 0 stands between them",
    looks_like=("ADP001", "GRD003"),
)
