"""OFT: weights are rotated, not added to; the rotation starts as none at all (0)."""

from ftlab.faults.builders import Case, Healthy, llama, plain_case


def build() -> Case:
    """Build OFT on the attention's projections."""
    from peft import OFTConfig, get_peft_model

    config = OFTConfig(
        oft_block_size=8,
        target_modules=["q_proj", "v_proj"],
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(llama(), config)
    return plain_case(model, lr=5e-3)


HEALTHY = Healthy(
    "the trained tensors are all 0 before the first step",
    looks_like=("ADP001", "GRD003"),
)
