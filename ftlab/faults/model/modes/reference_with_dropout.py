"""The model without its adapter is the reference, and answers with dropout on.

``disable_adapter`` and ``no_grad`` stand around its pass; the base has a dropout of its
own, and the model is in training mode. Its log-probabilities are drawn by chance, and
so is the loss that compares with them.

Fix: ``model.eval()`` before the pass and ``model.train()`` after it, or no dropout.
Source: trl, ``DPOConfig.disable_dropout``, which is on for this reason.
"""

from typing import Any

import torch

from ftlab.faults.builders import VOCABULARY, Case, Fault, gpt2, lora, plain_case
from ftlab.faults.builders.preferences import log_chance
from ftlab.faults.builders.trainers import seeded


def build(fixed: bool) -> Case:
    """Build DPO by hand on a GPT-2 with dropout."""
    model = lora(gpt2(resid_pdrop=0.1, embd_pdrop=0.1)).train()
    dice = seeded()

    def loss_of(batch: Any) -> torch.Tensor:
        good = batch["input_ids"]
        bad = torch.randint(3, VOCABULARY, good.shape, generator=dice)
        ids = torch.cat([good, bad])
        policy = log_chance(model, ids)
        model.train(not fixed)
        with torch.no_grad(), model.disable_adapter():
            before = log_chance(model, ids)
        model.train()
        more, less = (policy - before).chunk(2)
        return -torch.nn.functional.logsigmoid(0.1 * (more - less)).mean()

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the reference gives another answer to the same batch each time",
    code="MOD016",
    places=("call model.eval",),
    steps=8,
    evident=1,
)
