"""LoRA on a model one of whose blocks is frozen, without an adapter, and on disk.

Weights of the base are on the meta device between two forwards, and none of them is
trained: gradients only go through them.
"""

from accelerate import disk_offload

from ftlab.faults.builders import Case, Healthy, base, folder, lora, plain_case
from ftlab.faults.builders.blocks import blocks


def build() -> Case:
    """Put LoRA on all blocks but the last, and that one on disk."""
    model = base()
    last = len(blocks(model)) - 1
    model = lora(model, layers_to_transform=list(range(last))).train()
    disk_offload(blocks(model)[last], str(folder(model)), execution_device="cpu")
    return plain_case(model)


HEALTHY = Healthy(
    "weights that a gradient passes through are on the meta device",
    looks_like=("GRD003", "MOD004"),
)
