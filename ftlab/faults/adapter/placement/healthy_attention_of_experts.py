"""LoRA on the attention of a mixture of experts, by choice."""

from ftlab.faults.builders import Case, Healthy, lora, mixtral, plain_case


def build() -> Case:
    """Build a Mixtral with LoRA on queries and values."""
    model = lora(mixtral(), target_modules=["q_proj", "v_proj"])

    return plain_case(model)


HEALTHY = Healthy(
    "ninety percent of the blocks carry no adapter",
    looks_like=("ADP013",),
)
