"""rsLoRA with a rank as large as the layer, and dropout.

Its scaling is alpha over the root of r, larger than a plain LoRA's of the same alpha;
the rank is that of the whole weight, so the product is no small correction any more.
"""

from ftlab.faults.builders import Case, Healthy, current, lora, plain_case


def build() -> Case:
    """Build rsLoRA of full rank on all linear layers."""
    model = lora(
        r=current().width,
        lora_alpha=16,
        use_rslora=True,
        lora_dropout=0.1,
        target_modules="all-linear",
    )
    return plain_case(model)


HEALTHY = Healthy(
    "a scaling of 2 at rank 64, an adapter as large as the base",
    looks_like=("ADP001", "GRD002"),
)
