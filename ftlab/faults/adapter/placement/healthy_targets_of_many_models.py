"""LoRA with a list of targets that was written for many models at once.

Whatever family it meets, the attention gets its adapter; the other names are in vain.
"""

from ftlab.faults.builders import Case, Healthy, attention, base, lora, plain_case


def build() -> Case:
    """Build a LoRA model from a list for many models."""
    model = base()
    names = ["q_proj", "v_proj", "query_key_value", "c_attn", "Wqkv"]
    own = [name for name in attention(model) if name not in names]
    model = lora(model, target_modules=names + own)

    return plain_case(model)


HEALTHY = Healthy(
    "half of the names in target_modules match nothing",
    looks_like=("ADP012",),
)
