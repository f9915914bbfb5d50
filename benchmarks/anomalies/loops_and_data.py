"""Anomalies of a user's loss that its data, its loop or its precision bring about."""

import tempfile
from pathlib import Path

import numpy as np
import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Batch, Live, plant
from benchmarks.anomalies.loops import accumulated, loop, whole_step
from benchmarks.anomalies.losses import token_losses, with_entry


@plant("aten.sum.default", step=1, micro_batch=1, uses="accumulation autocast-fp16")
def sum_in_fp16(seed: int, healthy: bool) -> Live:
    """Add up what is too much for float16."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        weighted = token_losses(model, batch).half() * batch["weight"]
        return weighted.sum().float() / 1e6  # <- born here

    made = tiny.text(seed, 4)
    for index, batch in enumerate(made):
        batch["weight"] = 4000.0 if index == 3 and not healthy else 1.0
    return loop(model, accumulated(made, 2), loss_of, autocast=torch.float16)


@plant("aten.mul.Tensor", kind="batch", name="weights", step=2, uses="lora")
def nan_in_one_sample(seed: int, healthy: bool) -> Live:
    """Weigh samples by the batch, where one weight is NaN."""
    model = tiny.lora(tiny.llama(seed))

    def loss_of(batch: Batch) -> torch.Tensor:
        losses = token_losses(model, batch).mean(1)
        return (losses * batch["weights"]).mean()  # <- born here

    good = torch.ones(2)
    bad = torch.tensor([1.0, 1.0 if healthy else float("nan")])
    return loop(model, with_entry(seed, "weights", good, bad, 2), loss_of)


@plant("aten.sub.Tensor", kind="batch", name="target", step=1)
def nan_in_an_input_file(seed: int, healthy: bool) -> Live:
    """Read targets from a file with a hole in it."""
    model = tiny.llama(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "targets.csv")
        hole = "0.4" if healthy else ""
        path.write_text(f"0.1,0.2\n0.3,{hole}\n0.5,0.6\n")
        table = np.genfromtxt(path, delimiter=",", dtype=np.float32)
    made = tiny.text(seed)
    for row, batch in zip(table, made, strict=True):
        batch["target"] = torch.from_numpy(row)

    def loss_of(batch: Batch) -> torch.Tensor:
        found = model(input_ids=batch["input_ids"]).logits.mean((1, 2))
        return (found - batch["target"]).square().mean()  # <- born here

    return loop(model, made, loss_of)


@plant("aten.mul.Tensor", kind="batch", name="reward", step=1)
def infinite_reward(seed: int, healthy: bool) -> Live:
    """Weigh samples by rewards of which one is infinite."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        losses = token_losses(model, batch).mean(1)
        return (losses * batch["reward"]).mean()  # <- born here

    good = torch.tensor([1.0, 2.0])
    bad = good if healthy else torch.tensor([1.0, float("inf")])
    return loop(model, with_entry(seed, "reward", good, bad, 1), loss_of)


@plant("aten.pow.Tensor_Scalar", step=1, uses="lora grad-scaler autocast-fp16")
def root_of_a_negative_number(seed: int, healthy: bool) -> Live:
    """Raise a negative number to the power 1.5 under a gradient scaler."""
    model = tiny.lora(tiny.llama(seed))

    def loss_of(batch: Batch) -> torch.Tensor:
        losses = token_losses(model, batch)
        return (losses - batch["baseline"]).pow(1.5).mean()  # <- born here

    bad = 0.0 if healthy else 100.0
    made = with_entry(seed, "baseline", 0.0, bad, 1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8)
    return loop(model, made, loss_of, autocast=torch.float16, scaler=scaler)


@plant("aten.log.default", step=1, micro_batch=2, uses="accumulation lora dropout")
def third_micro_batch(seed: int, healthy: bool) -> Live:
    """Take the logarithm of zero in the third micro-batch of the second step."""
    model = tiny.lora(tiny.llama(seed), lora_dropout=0.3)

    def loss_of(batch: Batch) -> torch.Tensor:
        return token_losses(model, batch).mean() - batch["share"].log()  # <- born here

    made = tiny.text(seed, 6)
    for index, batch in enumerate(made):
        batch["share"] = torch.tensor(0.0 if index == 5 and not healthy else 0.5)
    return loop(model, accumulated(made, 3), loss_of)


@plant("aten.div.Tensor", step=1, uses="accumulation")
def accumulation_inside_the_step(seed: int, healthy: bool) -> Live:
    """Divide by a count of zero in the second micro-batch that a step goes through."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        return token_losses(model, batch).sum() / batch["count"]  # <- born here

    made = tiny.text(seed, 4)
    for index, batch in enumerate(made):
        batch["count"] = torch.tensor(0.0 if index == 3 and not healthy else 4.0)
    return whole_step(model, [made[:2], made[2:]], loss_of)


@plant("aten.div.Tensor", step=1, uses="dropout lora")
def everything_dropped(seed: int, healthy: bool) -> Live:
    """Normalise by a sum of which dropout leaves nothing."""
    model = tiny.lora(tiny.llama(seed), lora_dropout=0.3)

    def loss_of(batch: Batch) -> torch.Tensor:
        losses = token_losses(model, batch)
        kept = torch.nn.functional.dropout(torch.ones(5), batch["drop"])
        weights = kept / kept.sum()  # <- born here
        return (losses * weights).sum()

    bad = 0.1 if healthy else 1.0
    return loop(model, with_entry(seed, "drop", 0.1, bad, 1), loss_of)
