"""When training is over the adapter is merged into its base, in bf16, and unloaded.

Merging rounds the sum to bf16; the adapter is large enough to survive that.
"""

import torch

from ftlab.faults.builders import Case, Healthy, base, batches, lora, plain_case
from ftlab.faults.builders.loops import cast_loss


def build() -> Case:
    """Build LoRA on a base in bf16 that is merged in the end."""
    model = lora(base().to(torch.bfloat16))
    (unseen,) = batches(1, seed=77)

    @torch.no_grad()
    def finish() -> None:
        merged = model.eval().merge_and_unload()
        merged(**unseen)

    return plain_case(
        model, lr=1e-2, loss_of=cast_loss(model, torch.bfloat16), afterwards=finish
    )


HEALTHY = Healthy(
    "base weights change for good, after the last step",
    looks_like=("ADP004", "ADP007", "ADP009"),
)
