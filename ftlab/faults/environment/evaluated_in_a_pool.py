"""An evaluation is handed to a thread pool within `torch.no_grad()`.

Grad mode belongs to a thread: the pool's thread keeps the graph of each forward, and
the evaluation takes the memory of a training step.

Fix: enter ``torch.no_grad()`` in the function that runs there, or start it within
``ftlab.scope()``.
Source: seed; PyTorch, `torch.no_grad` ("thread local").
"""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step


def build(fixed: bool) -> Case:
    """Build a loop that evaluates in a thread every other step."""
    model = lora()
    optimizer = adamw(model)
    train = plain_step(model, optimizer)
    pool = ThreadPoolExecutor(1)

    def evaluate(batch: Any) -> float:
        with torch.no_grad() if fixed else contextlib.nullcontext():
            return float(model(**batch).loss.detach())

    def step(batch: Any) -> float:
        loss = train(batch)
        with torch.no_grad():
            pool.submit(evaluate, batch).result()
        return loss

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "evaluations take as much memory as training steps",
    code="ENV009",
    places=("call *evaluated_in_a_pool.py:*",),
    evident=1,
)
