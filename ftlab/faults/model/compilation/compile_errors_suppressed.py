"""A backend that cannot work, whose errors are suppressed.

An error message recommends ``torch._dynamo.config.suppress_errors = True``. With it, a
machine without a compiler trains eagerly, and only a warning in the log says so.

Fix: ``suppress_errors = False``, and mend the error or take another backend.
Source: pytorch/pytorch#107044, #87440.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, StepFunction, adamw, base, batches
from ftlab.faults.builders.loops import plain_step


def build(fixed: bool) -> Case:
    """Build a compiled model whose backend finds no compiler."""
    model = base()
    compiled: Any = torch.compile(model, backend="eager" if fixed else _no_compiler)
    optimizer = adamw(model)
    return Case(compiled, optimizer, batches(), _suppressing(compiled, optimizer))


def _suppressing(model: Any, optimizer: Any) -> StepFunction:
    """Train with the setting on, and leave it off for other runs of the process."""
    plain = plain_step(model, optimizer)
    config: Any = torch._dynamo.config  # noqa: SLF001  as its users write it

    def step(batch: Any) -> float:
        with config.patch(suppress_errors=True):
            return plain(batch)

    return step


def _no_compiler(_graph: Any, _inputs: Any) -> Any:
    msg = "No working C++ compiler found"
    raise RuntimeError(msg)


FAULT = Fault(
    "the model is compiled and no faster than before",
    code="MOD020",
    places=("config suppress_errors",),
    steps=3,
    families=("own",),
)
