"""LoRA under an AdamW of bitsandbytes whose moments have eight bits."""

from ftlab.faults.builders import Case, Healthy, loop_case, lora, trainable


def build() -> Case:
    """Build LoRA under AdamW8bit."""
    from bitsandbytes.optim import AdamW8bit

    model = lora(target_modules="all-linear", r=64)
    optimizer = AdamW8bit(trainable(model), lr=1e-3, min_8bit_size=1024)
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "the optimizer's moments are bytes",
    looks_like=("NUM002", "OPT001", "ADP002"),
    needs=("bitsandbytes>=0.46",),
)
