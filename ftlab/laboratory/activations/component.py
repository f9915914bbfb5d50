"""Checks of a model's parts: the interface that all of them, and users' own, go through.

A check is a function of a `Site`: one module that the forward has called, with what it
was given and what it returned. It yields faults and nothing else. `register` says for
which modules it is.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from ftlab.executions.tokens import Grid
from ftlab.laboratory.activations.counterpart import Counterpart
from ftlab.records.activation import PartFault, PartSeverity
from ftlab.records.errors import BadValueError

ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2}
"""What two ways to compute the same may differ by, over its size: attention in another
order of sums differs by 1e-6 in float32, and a module's rounding adds up; TF32 has 10
bits, as float16. bfloat16 has 8, a rounding is 4e-3."""

COARSE, TF32 = 4e-2, 5e-3
SURE = 0.1
"""Part of a difference that may remain where a known mistake explains it."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A known mistake, and what a module would return if it were made.

    Attributes
    ----------
    said
        What it is, as it ends the sentence "it computes ...".
    """

    said: str
    fix: str
    output: Callable[[], Any]


Mistakes = Iterable[Mistake]


@dataclass(frozen=True, slots=True)
class Site:
    """One module that a forward has called.

    Attributes
    ----------
    path, module
        Of the model's own.
    args, kwargs
        What it was given.
    returned
        All that it returned; `output` is the first tensor in it.
    library
        The library's module for its place; ``None`` where there is none.
    component
        What is being checked.
    fresh
        Whether the model is said to be untrained.
    context
        What else was heard within: see `ftlab.laboratory.activations.hearing`.
    """

    path: str
    module: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    returned: Any
    library: Counterpart | None = None
    component: str = "module"
    fresh: bool = False
    grid: Grid | None = None
    context: Mapping[str, Any] = field(default_factory=dict)

    @property
    def output(self) -> torch.Tensor:
        """The first floating-point tensor that it returned."""
        return first_tensor(self.returned)

    @property
    def input(self) -> torch.Tensor:
        """The first floating-point tensor that it was given."""
        return first_tensor((*self.args, *self.kwargs.values()))

    def close(self, one: Any, other: Any) -> bool:
        """Say whether two outputs are the same to rounding, padding left out."""
        return self.distance(one, other) <= self.allowed

    def distance(self, one: Any, other: Any) -> float:
        """Return the size of a difference over the size of ``other``."""
        a, b = (self._tokens(first_tensor(each)) for each in (one, other))
        if a.shape != b.shape:
            return float("inf")
        size = float(b.square().mean().sqrt())
        gap = float((a - b).square().mean().sqrt())
        return gap / size if size else float("inf" if gap else 0.0)

    @property
    def allowed(self) -> float:
        """What may differ, see `ROUNDING`."""
        output = self.output
        if output.is_cuda and output.dtype == torch.float32:
            return TF32
        return ROUNDING.get(output.dtype, COARSE)

    def fault(self, said: str, fix: str = "", severity: PartSeverity = "error") -> Any:
        """Return a fault of this module."""
        return PartFault(self.component, (self.path,), said, fix, severity)

    def against_library(self, mistakes: Mistakes) -> Iterator[PartFault]:
        """Compare with the library's forward, and say which mistake explains it."""
        if self.library is None:
            return
        name, kind = type(self.library.module).__name__, type(self.module).__name__
        label = f"{kind} differs from transformers' {name}" if kind != name else kind
        for key, mine, theirs in self.library.settings:
            exact = isinstance(getattr(self.module, key), float)
            if exact or not self.close(self.returned, self.expected()):
                yield self.fault(
                    f"{label}: {key} is {mine:.6g}, the configuration says "
                    f"{theirs:.6g}",
                    f"Set it back, or put it into the configuration: {key}.",
                )
                return
        if not self.library.fits():
            yield from self._named(mistakes, f"{label} and has other parts", None)
            return
        expected = self.expected()
        if self.close(self.returned, expected):
            return
        apart = self.distance(self.returned, expected)
        yield from self._named(mistakes, label, apart)

    def expected(self) -> Any:
        """Return what the library's forward gives with the model's own weights."""
        if self.library is None:
            msg = f"{self.path} has no counterpart in transformers."
            raise BadValueError(msg)
        return self.library.run(self.args, self.kwargs)

    def _named(
        self, mistakes: Mistakes, label: str, apart: float | None
    ) -> Iterator[PartFault]:
        limit = self.allowed if apart is None else min(self.allowed, SURE * apart)
        for each in mistakes:
            try:
                distance = self.distance(self.returned, each.output())
            except Exception:  # noqa: BLE001, S112  it cannot be made here
                continue
            if distance <= limit:
                yield self.fault(f"{label}: it computes {each.said}", each.fix)
                return
        if apart is None:
            return
        factor = self._factor()
        if factor:
            yield self.fault(
                f"{label}: it returns {factor:.4g} times what that does",
                "Multiply by the scale that the configuration asks for.",
            )
            return
        yield self.fault(
            f"{label}: with the same weights their outputs are {apart:.2g} apart, "
            "over their size, and no known mistake explains it",
            "Right where it is meant; else compare the two forwards line by line.",
            "warning",
        )

    def _factor(self) -> float:
        """Return the one number that all of the output is off by, or 0."""
        a, b = (
            self._tokens(first_tensor(each))
            for each in (self.returned, self.expected())
        )
        if a.shape != b.shape:
            return 0.0
        factor = float((a * b).sum() / b.square().sum().clamp(min=1e-30))
        return factor if factor and self.close(a, factor * b) else 0.0

    def _tokens(self, tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor.detach().double()
        if self.grid is not None and self.grid.layout(tensor) == "rows":
            return self.grid.cells(tensor, "rows")
        return tensor


Check = Callable[[Site], Iterable[PartFault]]
C = TypeVar("C", bound=Check)
Of = type | str | Callable[[Site], bool]


@dataclass(frozen=True, slots=True)
class Registered:
    """A check, and the modules that it is for."""

    name: str
    of: Of
    check: Check
    own: bool = False

    def is_for(self, module: torch.nn.Module, library: Counterpart | None) -> bool:
        """Say whether it is for a module, by its class or the library's at its place.

        A built-in check goes by the names that classes have; a class in the model may
        be called anything, so the library's stands for it where there is one.
        """
        of = self.of
        if isinstance(of, type):
            return isinstance(module, of)
        judged = library.module if library is not None else module
        names = {type(judged).__name__, *([type(module).__name__] if self.own else [])}
        if isinstance(of, str):
            return any(re.fullmatch(of, name) for name in names)
        return bool(of(Site("", module, (), {}, None, library)))


_CHECKS: list[Registered] = []


def register(of: Of, name: str = "", *, own: bool = True) -> Callable[[C], C]:
    """Make a function a check of all modules of a class; see `ftlab.activations`.

    Raises
    ------
    BadValueError
        ``of`` is nothing that modules can be told by.
    """
    if not (isinstance(of, str | type) or callable(of)):
        msg = (
            f"of={of!r}: a check is for a class, a regular expression of its name, or "
            "what a function says of a site: register(MyNorm)."
        )
        raise BadValueError(msg)

    def put(check: C) -> C:
        label = name or getattr(check, "__name__", "check").replace("_", " ")
        _CHECKS.append(Registered(label, of, check, own))
        return check

    return put


def unregister(check: Check) -> None:
    """Take a check out again; nothing happens where it is not in."""
    _CHECKS[:] = [each for each in _CHECKS if each.check is not check]


def checks() -> tuple[Registered, ...]:
    """Return what is registered, users' own first."""
    return tuple(sorted(_CHECKS, key=lambda each: not each.own))


def first_tensor(value: Any) -> torch.Tensor:
    """Return the first floating-point tensor in what a module gave or was given.

    Raises
    ------
    BadValueError
        There is none.
    """
    found = next(_tensors(value), None)
    if found is None:
        msg = "there is no floating-point tensor in what the module gave."
        raise BadValueError(msg)
    return found


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, Mapping):
        yield from _tensors(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _tensors(each)
