"""What a tensor can be asked besides whether it is finite: ``ftlab.when``.

A predicate measures a tensor where it lies, as one number, so that many of them are
read back together; then it judges the number. Those that go by a tensor's own history
keep it by place: the parameter or module, and the micro-batch.
"""

import math
import statistics
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import torch

from ftlab.records.errors import BadValueError
from ftlab.records.near import near
from ftlab.replay.capsules.rng import RngState

__all__ = [
    "Predicate",
    "all_zero",
    "deviates",
    "near_overflow",
    "saturated",
    "subnormal",
]

STILL = 0.05
"""Least scatter that a history is taken to have, in powers of ten.

A loss that has come to rest scatters by less than 1 %; without a floor its next
ordinary move would be many deviations.
"""


class Predicate:
    """A question to a tensor.

    Attributes
    ----------
    label
        The question in words.
    own_places
        Whether it goes by the history of named places, so that it says nothing of
        tensors within a module.
    """

    label = "a condition"
    own_places = False

    def measure(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return what is judged, a number that may still be on a device.

        Parameters
        ----------
        tensor
            Floating-point, with at least one value.
        """
        raise NotImplementedError

    def holds(self, value: float, place: str = "") -> bool:
        """Judge what was measured at ``place``, ``""`` where that has no history."""
        raise NotImplementedError

    def says(self, value: float) -> str:
        """Put a number that holds into words."""
        return f"{self.label}: {value:.3g}"

    def __repr__(self) -> str:
        return self.label


class _NearOverflow(Predicate):
    def __init__(self, share: float) -> None:
        self.label = f"beyond {share:.0%} of the dtype's range"
        self._share = share

    def measure(self, tensor: torch.Tensor) -> torch.Tensor:
        return _largest(tensor).float() / torch.finfo(tensor.dtype).max

    def holds(self, value: float, place: str = "") -> bool:
        return value > self._share

    def says(self, value: float) -> str:
        return f"{value:.0%} of the dtype's range"


class _AllZero(Predicate):
    label = "all zero"

    def __init__(self) -> None:
        self._alive: set[str] = set()

    def measure(self, tensor: torch.Tensor) -> torch.Tensor:
        return _largest(tensor).float()

    def holds(self, value: float, place: str = "") -> bool:
        if value != 0:
            self._alive.add(place)
        return value == 0 and (not place or place in self._alive)

    def says(self, value: float) -> str:
        return "all zero, where it was not before"


class _Subnormal(Predicate):
    label = "subnormal"

    def __init__(self) -> None:
        self._alive: set[str] = set()

    def measure(self, tensor: torch.Tensor) -> torch.Tensor:
        # In double, where no device flushes what is subnormal in the tensor's dtype.
        return _largest(tensor).double() / torch.finfo(tensor.dtype).tiny

    def holds(self, value: float, place: str = "") -> bool:
        if value >= 1:
            self._alive.add(place)
        return 0 < value < 1 and (not place or place in self._alive)

    def says(self, value: float) -> str:
        return f"subnormal: its largest is {value:.2g} of the smallest normal number"


class _Deviates(Predicate):
    own_places = True

    def __init__(self, deviations: float, least: int, window: int) -> None:
        self.label = f"beyond {deviations:g} deviations of its own history"
        self._deviations = deviations
        self._least = least
        self._past: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=window))
        self._said = ""

    def measure(self, tensor: torch.Tensor) -> torch.Tensor:
        # A norm of the whole may overflow in float16; the mean square may not be read.
        return tensor.float().norm() / math.sqrt(tensor.numel())

    def holds(self, value: float, place: str = "") -> bool:
        if not place or not value > 0:  # zeros come and go: an expert that idles
            return False
        past = self._past[place]
        now = math.log10(value)
        if len(past) >= self._least:
            middle = statistics.median(past)
            scatter = 1.4826 * statistics.median(abs(each - middle) for each in past)
            score = abs(now - middle) / max(scatter, STILL)
            if score > self._deviations:
                self._said = (
                    f"root mean square {value:.3g}, {score:.0f} robust deviations from "
                    f"the median {10**middle:.3g} of its last {len(past)} steps"
                )
                return True
        past.append(now)
        return False

    def says(self, value: float) -> str:
        return self._said


class _Saturated(Predicate):
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


def all_zero() -> Predicate:
    """Ask whether a tensor is zero everywhere, where it was not in an earlier step."""
    return _AllZero()


def subnormal() -> Predicate:
    """Ask whether all of a tensor is below its dtype's smallest normal number.

    A tensor that was so in all earlier steps, or is all zero, is not meant.
    """
    return _Subnormal()


def deviates(
    deviations: float = 16.0, *, least: int = 16, window: int = 64
) -> Predicate:
    """Ask whether a tensor's root mean square leaves its own history.

    Parameters
    ----------
    deviations
        Robust standard deviations, 1.4826 times the median absolute deviation, of the
        base-10 logarithm.
    least, window
        Steps of history that are needed, and that are kept.

    Notes
    -----
    The history is kept for each parameter's gradient, each module's output and the
    loss; for each micro-batch of an accumulation too. Zeros are no part of it: see
    `all_zero`.

    The default was measured: in the 15 healthy runs of ``ftlab.faults``, 150 steps of
    each, 29,000 gradients and losses stayed below 12.4 deviations, 14 of the runs below
    8.6.
    """
    if not deviations > 0 or least < 4 or window < least:
        msg = (
            f"deviates({deviations!r}, least={least!r}, window={window!r}): pass "
            "deviations above 0, least from 4, and window not below least."
        )
        raise BadValueError(msg)
    return _Deviates(deviations, least, window)


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
        msg = f"when={asked!r} is no predicate; {near(asked, _BY_NAME)}."
        raise BadValueError(msg)
    if callable(asked):
        return _Own(asked)
    msg = (
        f"when={asked!r}: pass a function of a tensor, one of ftlab.when, or a name "
        f"such as 'near overflow'."
    )
    raise BadValueError(msg)


def _largest(tensor: torch.Tensor) -> torch.Tensor:
    low, high = torch.aminmax(tensor)
    return torch.maximum(high, -low)
