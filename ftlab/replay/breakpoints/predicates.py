"""What a tensor can be asked besides whether it is finite: ``ftlab.when``."""

from collections.abc import Callable
from typing import Any

import torch

from ftlab.records.errors import BadValueError
from ftlab.records.near import near
from ftlab.replay.breakpoints.histories import all_zero, deviates, subnormal
from ftlab.replay.breakpoints.predicate import Predicate, largest
from ftlab.replay.capsules.rng import RngState

__all__ = [
    "Predicate",
    "all_zero",
    "deviates",
    "near_overflow",
    "saturated",
    "subnormal",
]


class _NearOverflow(Predicate):
    """Whether a magnitude is beyond a share of the dtype's range."""

    def __init__(self, share: float) -> None:
        self.label = f"beyond {share:.0%} of the dtype's range"
        self._share = share

    def measure(self, tensor: torch.Tensor) -> torch.Tensor:
        return largest(tensor).float() / torch.finfo(tensor.dtype).max

    def holds(self, value: float, place: str = "") -> bool:
        return value > self._share

    def says(self, value: float) -> str:
        return f"{value:.0%} of the dtype's range"


class _Saturated(Predicate):
    """Whether logits leave one class nearly everything."""

    def __init__(self, probability: float, share: float) -> None:
        self.label = f"saturated in more than {share:.0%} of its rows"
        self._probability = probability
        self._share = share

    def measure(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() == 0 or tensor.shape[-1] < 2:
            return torch.zeros((), device=tensor.device)
        rows = tensor.float()
        whole = rows.sum(dim=-1)
        given = (rows >= 0).all() & ((whole - 1).abs() < 0.01).all()
        largest = torch.where(given, rows, rows.softmax(dim=-1)).amax(dim=-1)
        return (largest > self._probability).float().mean()

    def holds(self, value: float, place: str = "") -> bool:
        return value > self._share

    def says(self, value: float) -> str:
        return f"saturated: one class has it all in {value:.0%} of the rows"


class _Own(Predicate):
    """The user's own function."""

    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        name = getattr(function, "__name__", type(function).__name__)
        self.label = "your function" if name == "<lambda>" else f"{name}()"
        self._function = function

    def measure(self, tensor: torch.Tensor) -> torch.Tensor:
        rng = RngState.take()
        try:
            found = self._function(tensor.clone())
        finally:
            rng.restore()
        answer = found if isinstance(found, torch.Tensor) else torch.tensor(found)
        if answer.numel() != 1:
            msg = (
                f"when={self.label} gave a tensor of shape {list(answer.shape)}; "
                "it must return true or false, or one element: add .any()."
            )
            raise BadValueError(msg)
        return answer.detach().reshape(()).float().to(tensor.device)

    def holds(self, value: float, place: str = "") -> bool:
        return value != 0

    def says(self, value: float) -> str:
        return f"{self.label} is true"


def near_overflow(share: float = 0.5) -> Predicate:
    """Ask whether a magnitude is beyond ``share`` of what the dtype can hold.

    In float16 the default is reached at 32,752; one doubling more is infinite.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.breakpoints.predicates import near_overflow
    >>> ask = near_overflow()
    >>> ask.holds(float(ask.measure(torch.tensor([4e4], dtype=torch.float16))))
    True
    >>> ask.holds(float(ask.measure(torch.tensor([4e4]))))
    False
    """
    if not 0 < share < 1:
        msg = f"near_overflow(share={share!r}): pass a number between 0 and 1."
        raise BadValueError(msg)
    return _NearOverflow(share)


def saturated(probability: float = 0.999, share: float = 0.9) -> Predicate:
    """Ask whether logits leave one class ``probability`` in most of their rows.

    Rows are along the last dimension. What is a distribution already, the output of a
    softmax, is taken as it is.
    """
    for name, value in (("probability", probability), ("share", share)):
        if not 0 < value < 1:
            msg = f"saturated({name}={value!r}): pass a number between 0 and 1."
            raise BadValueError(msg)
    return _Saturated(probability, share)


_BY_NAME: dict[str, Callable[[], Predicate]] = {
    "near overflow": near_overflow,
    "all zero": all_zero,
    "subnormal": subnormal,
    "deviates": deviates,
    "saturated": saturated,
}


def predicate(asked: Any) -> Predicate | None:
    """Return the predicate that ``when=`` means.

    Raises
    ------
    BadValueError
        When it is no predicate, no name of one and no function.
    """
    if asked is None or isinstance(asked, Predicate):
        return asked
    if isinstance(asked, str):
        made = _BY_NAME.get(" ".join(asked.replace("-", " ").replace("_", " ").split()))
        if made is not None:
            return made()
        msg = f"when={asked!r} is not a predicate; {near(asked, _BY_NAME)}."
        raise BadValueError(msg)
    if callable(asked):
        return _Own(asked)
    msg = (
        f"when={asked!r}: pass a function of a tensor, one of ftlab.when, or a name "
        f"such as 'near overflow'."
    )
    raise BadValueError(msg)
