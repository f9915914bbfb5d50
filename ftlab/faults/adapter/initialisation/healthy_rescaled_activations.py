"""IA3: only vectors that rescale activations are trained; they start at 1."""

from ftlab.faults.builders import Case, Healthy, llama, plain_case


def build() -> Case:
    """Build IA3 on keys, values and the feed-forward part."""
    from peft import IA3Config, get_peft_model

    config = IA3Config(
        target_modules=["k_proj", "v_proj", "down_proj"],
        feedforward_modules=["down_proj"],
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(llama(), config)
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "0.4 % of the parameters are trained, none of them a matrix",
    looks_like=("ADP001", "GRD003"),
)
