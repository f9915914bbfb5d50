"""LoHa: two low-rank products, multiplied element by element; one starts at 0."""

from ftlab.faults.builders import Case, Healthy, llama, plain_case


def build() -> Case:
    """Build LoHa on the attention's projections."""
    from peft import LoHaConfig, get_peft_model

    config = LoHaConfig(
        r=4, alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"
    )
    model = get_peft_model(llama(), config)
    return plain_case(model, lr=5e-3)


HEALTHY = Healthy(
    "three of four factors have a gradient of 0 at the first step",
    looks_like=("ADP001", "GRD003", "GRD001"),
)
