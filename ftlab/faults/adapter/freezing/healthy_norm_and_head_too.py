"""LoRA with copies of the last norm and of the head that are trained and saved."""

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case


def build() -> Case:
    """Build a LoRA model that trains its last norm and its head."""
    model = llama()
    model = lora(model, modules_to_save=["model.norm", "lm_head"])

    return plain_case(model)


HEALTHY = Healthy(
    "weights of the base are trained beside the adapter",
    looks_like=(
        "ADP016",
        "ADP012",
    ),
)
