"""The whole batch was cast to bfloat16, ids and all, and the ids cast back.

Above 256 bfloat16 holds every second number, above 512 every fourth: ids become those
of other tokens.

Fix: cast what is a float already.

Source: huggingface/accelerate#1405 (ids in half precision).
"""

from ftlab.faults.builders.stored import stored_as, tokenizer
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Cast the ids to bfloat16 and back; the twin to float32."""
    import torch

    return stored_as(tokenizer(900), torch.float32 if fixed else torch.bfloat16)


FAULT = Fault(
    "ids cast to bfloat16 and back",
    code="DAT028",
    places=("token * of sample *",),
)
