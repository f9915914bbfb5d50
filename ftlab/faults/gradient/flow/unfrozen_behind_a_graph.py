"""After unfreezing, the loss falls no faster: only the head is still trained.

The compiled model leaves out the guards on its modules, for speed. Its graph was made
while the body was frozen, and goes on being used.

Fix: ``torch._dynamo.reset()`` after unfreezing, or no ``guard_filter_fn``.
Source: torch.compiler.skip_guard_on_all_nn_modules_unsafe, in its documentation;
measured.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, loop_case
from ftlab.faults.builders.heads import head


def build(fixed: bool) -> Case:
    """Build a compiled model that was warmed up while its body was frozen."""
    model = base().requires_grad_(False)
    last = head(model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(f"{last}." in name)
    skipped: Any = {
        "guard_filter_fn": torch.compiler.skip_guard_on_all_nn_modules_unsafe
    }
    compiled: Any = torch.compile(model, backend="aot_eager", options=skipped)
    made = batches()
    compiled(**made[0])
    model.requires_grad_(True)
    if fixed:
        torch.compiler.reset()
    optimizer = adamw(model)
    return loop_case(compiled, optimizer, made)


FAULT = Fault(
    "what was unfrozen after compiling gets no gradient",
    code="GRD003",
    places=("module model",),
    evident=1,
    families=("llama", "neox", "own"),
)
