"""rsLoRA with a large scaling, and a learning rate that goes with it."""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build a LoRA model of rank 64 with rsLoRA."""
    model = lora(r=64, lora_alpha=64, use_rslora=True)
    return plain_case(model, lr=5e-5)


HEALTHY = Healthy(
    "the scaling is 8, and alpha as large as the rank",
    looks_like=("ADP018",),
)
