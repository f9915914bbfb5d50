"""LoRA with most of its settings made, each of which the layers use."""

from ftlab.faults.builders import Case, Healthy, gpt2, lora, plain_case


def build() -> Case:
    """Build DoRA on a GPT-2 with biases, patterns, an exclusion and other settings."""
    model = lora(
        gpt2(),
        target_modules=r".*\.(c_attn|c_proj|c_fc)",
        exclude_modules=r".*\.1\.mlp\..*",
        rank_pattern={"c_fc": 4},
        alpha_pattern={"c_fc": 8},
        use_dora=True,
        use_rslora=True,
        lora_alpha=8,
        lora_dropout=0.05,
        bias="lora_only",
        trainable_token_indices={"wte": [10, 11, 12]},
    )
    return plain_case(model)


HEALTHY = Healthy(
    "a configuration with ten settings, and not one of them is in vain",
    looks_like=("ADP012", "ADP016", "ADP040"),
    steps=20,
)
