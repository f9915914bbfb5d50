"""LoRA on the convolution of a vision model, merged into its kernel in the end.

The kernel has four dimensions and the factors are convolutions themselves; their
product arrives whole.
"""

from ftlab.faults.builders import Case, Healthy, lora, pictures, plain_case, vit


def build() -> Case:
    """Build LoRA on the patches of a ViT, with a trained head."""
    model = lora(vit(), target_modules=["projection"], modules_to_save=["classifier"])
    return plain_case(
        model, lr=1e-3, rows=pictures(), afterwards=lambda: model.merge_adapter()
    )


HEALTHY = Healthy(
    "a kernel of four dimensions changes at the merge",
    looks_like=("ADP009", "ADP007"),
    steps=40,
)
