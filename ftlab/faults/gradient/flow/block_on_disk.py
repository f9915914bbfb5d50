"""One block was put on disk because the model did not fit, and is trained from there.

accelerate fetches its weights for each forward and drops them afterwards. Backward
reaches the copies; the parameters that the optimizer holds stay on the meta device.

Fix: load all that is trained onto the device (a smaller model, 4 bits), or freeze
what is offloaded.
Source: huggingface/accelerate#3770, #3785.
"""

from accelerate import disk_offload

from ftlab.faults.builders import Case, Fault, base, folder, plain_case
from ftlab.faults.builders.blocks import blocks


def build(fixed: bool) -> Case:
    """Train all weights, the last block's from disk."""
    model = base().train()
    if not fixed:
        disk_offload(blocks(model)[-1], str(folder(model)), execution_device="cpu")
    return plain_case(model)


FAULT = Fault(
    "part of the model keeps its first values, and the loss falls all the same",
    code="GRD003",
    places=("config device_map",),
    steps=8,
    evident=1,
    families=("llama", "gpt2", "neox"),
)
