"""Copies of a model whose forward was wrapped, and none of which runs the model.

The average is kept for its weights and never called. The reference is called at each
step, and got the forward of its class back.
"""

import copy
import functools
from typing import Any

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn

from ftlab.faults.builders import Case, Healthy, loop_with, loss_step
from ftlab.faults.builders.tiny import adamw, base, batches, token_loss

SHARE = 0.1
"""How much staying near the reference counts."""


def build() -> Case:
    """Build a fine-tune with an average and a reference, both copied late."""
    model = base()
    inner = model.forward

    @functools.wraps(inner)
    def forward(*inputs: Any, **settings: Any) -> Any:
        return inner(*inputs, **settings)

    model.forward = forward
    average = AveragedModel(model, avg_fn=get_ema_avg_fn(0.9))
    reference = copy.deepcopy(model).eval()
    vars(reference).pop("forward")
    optimizer = adamw(model)

    def loss_of(batch: Any) -> torch.Tensor:
        ids = batch["input_ids"]
        with torch.no_grad():
            kept = reference(input_ids=ids).logits.log_softmax(-1)
        logits = model(input_ids=ids).logits
        shares = logits.log_softmax(-1)
        apart = torch.nn.functional.kl_div(
            shares, kept, log_target=True, reduction="batchmean"
        )
        return token_loss(logits, batch) + SHARE * apart / ids.shape[-1]

    train = loss_step(loss_of, optimizer)

    def after(_: int) -> None:
        average.update_parameters(model)

    return loop_with(model, optimizer, batches(), train=train, after=after)


HEALTHY = Healthy(
    "copies hold the forward that was set on the model",
    looks_like=("MOD018", "ADP031", "GRD003"),
)
