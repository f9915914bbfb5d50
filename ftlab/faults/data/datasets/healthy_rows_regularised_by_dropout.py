"""Each row goes through the model twice, and dropout makes the difference (R-Drop).

Both halves of a batch hold the same tokens. Beside the loss of each, the two are to
predict alike.
"""

from typing import Any

import torch
from torch.nn.functional import kl_div

from ftlab.faults.builders import Case, Healthy, gpt2, plain_case


def build() -> Case:
    """Train a GPT-2 with dropout on each batch beside itself."""
    model = gpt2(resid_pdrop=0.1, embd_pdrop=0.1, attn_pdrop=0.1)
    model.train()

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"].repeat(2, 1)
        made = model(input_ids=ids, labels=ids)
        one, other = made.logits.log_softmax(-1).chunk(2)
        apart = kl_div(one, other, log_target=True, reduction="batchmean")
        return made.loss + 0.01 * apart

    return plain_case(model, loss_of=loss_of)


HEALTHY = Healthy(
    "the halves of each batch are the same tokens",
    looks_like=("DAT013",),
)
