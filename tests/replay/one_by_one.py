"""A second, dumber way to blame: one forward and backward for each sample alone."""

import copy
from typing import Any

import numpy as np
import torch
import transformers

import ftlab
from ftlab.session.debugging.debugger import Debugger
from tests.models import tiny_llama, tiny_lora
from tests.session.scenarios import Loop, feed

AT = 2
"""The step at which the runs below are interrupted; LoRA has left zero by then."""


def plain(
    *, checkpointing: bool | None = None, bf16: bool = False, scale: float = 0.0
) -> Loop:
    """A loop without dropout; ``checkpointing`` says whether reentrant."""
    base = tiny_llama()
    if checkpointing is not None:
        base.gradient_checkpointing_enable({"use_reentrant": checkpointing})
        base.enable_input_require_grads()
    model = tiny_lora(base).train()
    scaler = torch.amp.GradScaler("cpu", init_scale=scale or 1.0, enabled=scale > 0)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = model(**batch).loss
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return Loop(model, optimizer, step)


def uneven() -> list[dict[str, torch.Tensor]]:
    """Batches whose samples have different numbers of labels."""
    batches = feed()
    for batch in batches:
        batch["labels"] = batch["labels"].clone()
        batch["labels"][0, :9] = -100
        batch["labels"][2, 12:] = -100
    return batches


def alone(
    model: torch.nn.Module, batch: dict[str, torch.Tensor], *, bf16: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Compute losses and gradient norms with batches of one sample each."""
    model = copy.deepcopy(model)
    trained = [p for p in model.parameters() if p.requires_grad]
    count = int((batch["labels"][:, 1:] != -100).sum())
    losses, norms = [], []
    for index in range(len(batch["labels"])):
        one = {name: value[index : index + 1] for name, value in batch.items()}
        labels = one.pop("labels")
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            logits = model(**one).logits[0, :-1].float()
        logs = logits.log_softmax(-1)
        target = labels[0, 1:]
        row = -logs[torch.arange(len(target)), target.clamp(min=0)]
        row = row.where(target != -100, torch.nan)
        for parameter in trained:
            parameter.grad = None
        (row.nansum() / count).backward()
        norms.append(sum(float(p.grad.float().norm()) ** 2 for p in trained) ** 0.5)
        losses.append([np.nan, *row.tolist()])
    return np.array(losses), np.array(norms)


def normaliser(batch: dict[str, torch.Tensor]) -> float:
    """Say what share of a mean over predicted tokens a Trainer takes as its loss.

    Before version 5, transformers divides by the labels of the first tokens too.
    """
    labels = batch["labels"] != -100
    old = int(transformers.__version__.partition(".")[0]) < 5
    return float(labels[:, 1:].sum() / labels.sum()) if old else 1.0


def interrupted(
    loop: Loop, batches: list[Any], at: int = AT, **options: Any
) -> Debugger:
    """Make a debugger whose run stops at the end of step ``at``."""
    seen = []

    def step(batch: Any) -> torch.Tensor:
        seen.append(batch)
        if len(seen) == at + 1:
            dbg.interrupt()
        return loop.step(batch)

    dbg = ftlab.debug(
        step, batches, model=loop.model, optimizer=loop.optimizer, **options
    )
    return dbg
