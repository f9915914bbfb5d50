r"""Expressions that were written for many models: half of their alternatives are idle.

``.*vision.*`` excludes a tower that is not there, ``\d+`` takes blocks of any number,
and what has no adapter is what nobody asked for.
"""

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case


def build() -> Case:
    """Build LoRA on a model of twelve blocks, from expressions."""
    attention = r".*\.(layers|h|blocks)\.\d+\.(self_attn|attn)\.(q_proj|v_proj|c_attn)"
    model = lora(
        llama(num_hidden_layers=12),
        target_modules=rf"{attention}|.*\.Wqkv|lm_head|.*[02468]\.mlp\.down_proj",
        exclude_modules=r".*vision.*|.*\.1\.self_attn\..*|visual\.merger",
        modules_to_save=["model.norm"],
    )
    return plain_case(model)


HEALTHY = Healthy(
    "four alternatives of two expressions match nothing",
    looks_like=("ADP012", "ADP020"),
    steps=20,
)
