"""LoKr: a product of Kronecker in place of B A; one factor starts at 0."""

from ftlab.faults.builders import Case, Healthy, llama, plain_case


def build() -> Case:
    """Build LoKr on the attention's projections."""
    from peft import LoKrConfig, get_peft_model

    config = LoKrConfig(
        r=4, alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"
    )
    model = get_peft_model(llama(), config)
    return plain_case(model, lr=5e-3)


HEALTHY = Healthy(
    "a factor is 0 at first, so the other ones have no gradient but 0",
    looks_like=("ADP001", "GRD003"),
)
