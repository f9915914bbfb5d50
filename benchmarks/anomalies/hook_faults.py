"""What a planted hook does to a tensor.

``good`` is 1, and 0 in the batch that is to break.
"""

from collections.abc import Callable

import torch

Fault = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def log_of_zero(x: torch.Tensor, good: torch.Tensor) -> torch.Tensor:
    """Add log(1), or log(0)."""
    return x + good.log()  # <- born here


def zero_over_zero(x: torch.Tensor, good: torch.Tensor) -> torch.Tensor:
    """Multiply by 1 / 1, or 0 / 0."""
    return x * (good / good)  # <- born here


def root_of_a_negative_number(x: torch.Tensor, good: torch.Tensor) -> torch.Tensor:
    """Multiply by the root of 1, or of -1."""
    sign = 2 * good - 1
    return x * sign.sqrt()  # <- born here


def exp_overflow(x: torch.Tensor, good: torch.Tensor) -> torch.Tensor:
    """Multiply by exp(0), or exp(100)."""
    large = 100 * (1 - good)
    return x * large.exp()  # <- born here


def cast_to_fp16(x: torch.Tensor, good: torch.Tensor) -> torch.Tensor:
    """Add 0, or 70,000, by way of float16."""
    large = 7e4 * (1 - good)
    return x + large.half()  # <- born here


def derivative_of_a_root(x: torch.Tensor, good: torch.Tensor) -> torch.Tensor:
    """Add the root of 1, or of 0, which has no derivative."""
    flat = x * 0 + good
    return x + flat.sqrt()  # <- born here


def derivative_of_a_power(x: torch.Tensor, good: torch.Tensor) -> torch.Tensor:
    """Add the fourth root of 1, or of 0."""
    flat = x * 0 + good
    return x + flat.pow(0.25)  # <- born here


def derivative_behind_where(x: torch.Tensor, good: torch.Tensor) -> torch.Tensor:
    """Divide by 1, or by 0 behind a where."""
    ratio = x / good  # <- born here
    return torch.where(good > 0, ratio, x)


FORWARD: dict[Fault, str] = {
    log_of_zero: "aten.log.default",
    zero_over_zero: "aten.div.Tensor",
    root_of_a_negative_number: "aten.sqrt.default",
    exp_overflow: "aten.exp.default",
    cast_to_fp16: "aten._to_copy.default",
}
BACKWARD: dict[Fault, tuple[str, str]] = {
    derivative_of_a_root: ("aten.div.Tensor", "aten.sqrt.default"),
    derivative_of_a_power: ("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Scalar"),
    derivative_behind_where: ("aten.div.Tensor", "aten.div.Tensor"),
}
