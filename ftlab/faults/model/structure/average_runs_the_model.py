"""An average of the weights is evaluated, and it is the model that answers.

A block's ``forward`` was wrapped to measure its time, in a closure over the bound
method. The copy that holds the average has the same closure in this block: it is run
with the weights of now.

Fix: make the copy before the wrapping, or measure with hooks.
Source: Python, `copy`: functions are returned unchanged; facebookresearch/fairscale#816
(a wrapped forward that the copy of a module shares).
"""

import functools
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn

from ftlab.faults.builders import Case, Fault, adamw, attention, base, batches
from ftlab.faults.builders.around import loop_with

EVERY = 3


def timed(forward: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """Wrap a forward so that its time is measured."""

    @functools.wraps(forward)
    def around(*inputs: Any, **settings: Any) -> Any:
        start = time.perf_counter()
        output = forward(*inputs, **settings)
        seconds.append(time.perf_counter() - start)
        return output

    return around


def build(fixed: bool) -> Case:
    """Build a full fine-tune with an average that is evaluated now and then."""
    model = base()
    average = AveragedModel(model, avg_fn=get_ema_avg_fn(0.9)) if fixed else None
    layer = model.get_submodule(first_attention(model))
    layer.forward = timed(layer.forward, [])
    average = average or AveragedModel(model, avg_fn=get_ema_avg_fn(0.9))
    optimizer = adamw(model, lr=5e-3)
    rows = batches(9)

    def after(done: int) -> None:
        average.update_parameters(model)
        if done % EVERY == EVERY - 1:
            with torch.no_grad():
                average.eval()(**rows[-1])

    return loop_with(model, optimizer, rows[:-1], after=after)


def first_attention(model: torch.nn.Module) -> str:
    """Return the path of a projection of attention."""
    targets = tuple(attention(model))
    return next(path for path, _ in model.named_modules() if path.endswith(targets))


FAULT = Fault(
    "the averaged weights score as the last ones do",
    code="MOD018",
    places=("call copy.deepcopy",),
    steps=8,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
