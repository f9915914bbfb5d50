"""A copy of a model is trained, and it is the original that gets the gradients.

``forward`` was set on the instance (``torch.compile(model.forward)``, a wrapper that
logs). ``copy.deepcopy`` copies what the instance holds, and a function is copied as
itself: the forward of the copy runs the original.

Fix: copy first, then wrap: ``copied.forward = torch.compile(copied.forward)``.
Source: Python, `copy`: functions are returned unchanged; verified with torch.compile.
"""

import copy
import functools
from collections.abc import Callable
from typing import Any

from ftlab.faults.builders import Case, Fault, lora, plain_case


def noisy(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a forward as torch.compile does: in a function of its own."""

    @functools.wraps(forward)
    def wrapper(*inputs: Any, **settings: Any) -> Any:
        return forward(*inputs, **settings)

    return wrapper


def build(fixed: bool) -> Case:
    """Build a LoRA that is copied before or after its forward was wrapped."""
    original = lora()
    if fixed:
        model = copy.deepcopy(original)
        model.forward = noisy(model.forward)
    else:
        original.forward = noisy(original.forward)
        model = copy.deepcopy(original)
    return plain_case(model)


FAULT = Fault(
    "a copy is fine-tuned and stays what it was",
    code="GRD003",
    places=("call model.forward",),
    steps=8,
    evident=1,
    also=("ADP001", "NUM003"),
    families=("llama", "gpt2", "neox", "own"),
)
