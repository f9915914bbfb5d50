"""Why an operation made a non-finite value, where its inputs prove it."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ftlab.replay.stops.report import digits
from ftlab.replay.tracing.finite import float_leaves, tensor_leaves
from ftlab.replay.tracing.runner import OpStop
from ftlab.replay.tracing.trouble import IGNORED

Arguments = tuple[Any, ...]
Floats = Sequence[torch.Tensor]

_SINGULAR = {
    "sqrt": "the derivative of sqrt is infinite at 0; add a small epsilon inside",
    "rsqrt": "the derivative of rsqrt is infinite at 0; add a small epsilon inside",
    "pow": "the derivative of a power below 1 is infinite at 0; clamp its input",
    "log": "the derivative of log is infinite at 0; clamp its input",
    "acos": "the derivative of acos is infinite at 1; clamp its input",
    "asin": "the derivative of asin is infinite at 1; clamp its input",
    "atan2": "the derivative of atan2 is not defined at (0, 0)",
    "linalg_vector_norm": "the derivative of a norm is not defined at 0",
    "std": "the derivative of std is not defined where all values are equal",
    "var": "the derivative of var is not defined for a single value",
}


def cause_of(stop: OpStop) -> str:
    """Return one sentence, or ``""`` when the operation does not tell."""
    name = stop.site.op.removeprefix("aten.").partition(".")[0].rstrip("_")
    inputs = list(float_leaves((stop.args, stop.kwargs)))
    forward = stop.site.forward
    if stop.site.phase == "backward" and forward is not None:
        made = forward.op.removeprefix("aten.").partition(".")[0].rstrip("_")
        if made in _SINGULAR:
            return f"{_SINGULAR[made]}."
    explain = _EXPLAIN.get(name)
    told = explain(stop.args, inputs) if explain else ""
    return told or _overflow(stop, inputs)


def _overflow(stop: OpStop, inputs: Sequence[torch.Tensor]) -> str:
    for output in float_leaves(stop.outputs):
        if not bool(output.isinf().any()) or bool(output.isnan().any()):
            continue
        largest = max((_largest(tensor) for tensor in inputs), default=0.0)
        name = str(output.dtype).removeprefix("torch.")
        end = "65,504" if output.dtype == torch.float16 else ""
        end = end or digits(torch.finfo(output.dtype).max)
        told = f"{name} ends at {end} and the result is larger"
        advice = (
            "; use bfloat16, or compute this part in float32."
            if output.dtype == torch.float16
            else "."
        )
        return f"{told} (largest input {digits(largest)}){advice}"
    return ""


def _largest(tensor: torch.Tensor) -> float:
    finite = tensor[tensor.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _logarithm(_: Arguments, inputs: Floats) -> str:
    lowest = float(inputs[0].min())
    if lowest > 0:
        return ""
    of = "0" if lowest == 0 else "negative values"
    return f"logarithm of {of}: the smallest input is {digits(lowest)}; clamp it."


def _division(args: Arguments, inputs: Floats) -> str:
    divisor = args[1] if len(args) > 1 else inputs[0]
    zeros = bool((torch.as_tensor(divisor) == 0).any())
    return "division by zero." if zeros else ""


def _update(_: Arguments, inputs: Floats) -> str:
    if not bool((inputs[-1] == 0).any()):
        return ""
    dtype = str(inputs[-1].dtype).removeprefix("torch.")
    return (
        "division by zero: the second moment is 0 there and the optimizer's eps is 0, "
        f"or becomes 0 in {dtype}; pass a larger eps, or keep the trained weights in "
        "float32."
    )


def _root(_: Arguments, inputs: Floats) -> str:
    lowest = float(inputs[0].min())
    return f"root of {digits(lowest)}; clamp its input." if lowest <= 0 else ""


def _softmax(args: Arguments, inputs: Floats) -> str:
    empty = int((inputs[0] == float("-inf")).all(args[1]).sum())
    if not empty:
        return ""
    return f"softmax over {empty:,} row(s) that are -inf everywhere: all is masked."


def _labels(args: Arguments, _: Floats) -> str:
    labels = [t for t in tensor_leaves(args) if t.dtype == torch.int64]
    if labels and bool((labels[0] == IGNORED).all()):
        return (
            f"all {labels[0].numel():,} labels are {IGNORED}, so the mean is taken "
            "over no token; look at what the collator masks."
        )
    return ""


def _exponential(_: Arguments, inputs: Floats) -> str:
    highest = float(inputs[0].max())
    return (
        f"exp of {digits(highest)} is too large for its dtype." if highest > 10 else ""
    )


_EXPLAIN: dict[str, Callable[[Arguments, Floats], str]] = {
    "log": _logarithm,
    "log2": _logarithm,
    "log10": _logarithm,
    "div": _division,
    "addcdiv": _update,
    "reciprocal": _division,
    "sqrt": _root,
    "rsqrt": _root,
    "_softmax": _softmax,
    "nll_loss_forward": _labels,
    "nll_loss2d_forward": _labels,
    "exp": _exponential,
}
