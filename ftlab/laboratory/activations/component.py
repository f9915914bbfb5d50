"""Checks of a model's parts: the interface of all of them, and of users' own.

A check is a function of a `Site`: one module that the forward has called, with what it
was given and what it returned. It yields faults. `register` says which modules it is
for.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import torch

from ftlab.executions.tokens import Grid
from ftlab.laboratory.activations.counterpart import Counterpart
from ftlab.records.activation import PartFault, PartSeverity
from ftlab.records.errors import BadValueError

ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2}
"""What two ways to compute the same may differ by, over its size: attention in another
order of sums differs by 1e-6 in float32, and TF32 has 10 bits, as float16. bfloat16 has
8, one rounding is 4e-3."""

COARSE, TF32 = 4e-2, 5e-3
_LIBRARIES = {"torch", "transformers", "peft", "bitsandbytes", "accelerate", "torchao"}
SURE = 0.1
"""Part of a difference that may remain where a known mistake explains it."""


class Mistake(NamedTuple):
    """What ends the sentence "it computes ...", and what a module would then return."""

    said: str
    fix: str
    output: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Site:
    """One module that a forward has called.

    Attributes
    ----------
    args, kwargs, returned
        What it was given and returned; `input` and `output` are the first tensors.
    library
        The library's module for its place; ``None`` where there is none.
    fresh
        Whether the model is said to be untrained.
    context
        ``scale``: of attention, and the head's width; ``starts``: of PEFT's adapters.
    """

    path: str
    module: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    returned: Any = None
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

    @property
    def allowed(self) -> float:
        """What may differ, see `ROUNDING`."""
        output = self.output
        if output.is_cuda and output.dtype == torch.float32:
            return TF32
        return ROUNDING.get(output.dtype, COARSE)

    def close(self, one: Any, other: Any) -> bool:
        """Say whether two outputs are the same to rounding, padding left out."""
        return self.distance(one, other) <= self.allowed

    def distance(self, one: Any, other: Any) -> float:
        """Return the size of a difference over the size of ``other``."""
        a, b = self._tokens(one), self._tokens(other)
        if a.shape != b.shape:
            return float("inf")
        size, gap = (float(each.square().mean().sqrt()) for each in (b, a - b))
        return gap / size if size else float("inf" if gap else 0.0)

    def fault(
        self, said: str, fix: str = "", severity: PartSeverity = "error"
    ) -> PartFault:
        """Return a fault of this module."""
        return PartFault(self.component, (self.path,), said, fix, severity)

    def expected(self) -> Any:
        """Return what the library's forward gives with the model's own weights."""
        if self.library is None:
            msg = f"{self.path} has no counterpart in transformers."
            raise BadValueError(msg)
        return self.library.run(self.args, self.kwargs)

    @property
    def of_library(self) -> bool:
        """Whether the module's class is of a library and not its user's."""
        return type(self.module).__module__.partition(".")[0] in _LIBRARIES

    @property
    def comparable(self) -> bool:
        """Whether the library's forward finds here all that it needs."""
        return self.library is not None and self.library.fits()

    def against_library(self, mistakes: Iterable[Mistake]) -> Iterator[PartFault]:
        """Compare with the library's forward, and say which mistake explains it."""
        pair = self.library
        if pair is None or not self.comparable:
            return
        name, kind = type(pair.module).__name__, type(self.module).__name__
        label = f"{kind} differs from transformers' {name}" if kind != name else kind
        apart = self.distance(self.returned, self.expected())
        for key, mine, theirs in pair.settings:
            if isinstance(getattr(self.module, key), float) or apart > self.allowed:
                said = f"{key} is {mine:.6g}, the configuration says {theirs:.6g}"
                fix = f"Set it back, or put it into the configuration: {key}."
                yield self.fault(f"{label}: {said}", fix)
                return
        if apart > self.allowed:
            yield from self._explained(mistakes, label, apart)

    def _explained(
        self, mistakes: Iterable[Mistake], label: str, apart: float
    ) -> Iterator[PartFault]:
        limit = min(self.allowed, SURE * apart)
        for each in mistakes:
            try:
                explains = self.distance(self.returned, each.output()) <= limit
            except Exception:  # noqa: BLE001  it cannot be made here
                continue
            if explains:
                yield self.fault(f"{label}: it computes {each.said}", each.fix)
                return
        a, b = self._tokens(self.returned), self._tokens(self.expected())
        factor = float((a * b).sum() / b.square().sum()) if a.shape == b.shape else 0.0
        if factor and self.close(a, factor * b):
            said = f"{label}: it returns {factor:.4g} times what that does"
            yield self.fault(said, "Multiply by the scale of the configuration.")
            return
        # no number, so that one cause is one fault over all places
        yield self.fault(
            f"{label}: with the same weights their outputs differ, and no known "
            "mistake explains it",
            "Right where it is meant; else compare the two forwards line by line.",
            "warning" if self.of_library else "info",
        )

    def _tokens(self, value: Any) -> torch.Tensor:
        tensor = first_tensor(value).detach().double()
        if self.grid is not None and self.grid.layout(tensor) == "rows":
            return self.grid.cells(tensor, "rows")
        return tensor


Check = Callable[[Site], Iterable[PartFault]]
C = TypeVar("C", bound=Check)
Of = type | str | Callable[[Site], bool]


class Registered(NamedTuple):
    """A check, the modules that it is for, and whether it is a user's own."""

    name: str
    of: Of
    check: Check
    own: bool

    def is_for(self, site: Site) -> bool:
        """Say whether it is for a module, by its class or the library's at its place.

        A class of one's own may be called anything: the library's stands for it.
        """
        if isinstance(self.of, type):
            return isinstance(site.module, self.of)
        if not isinstance(self.of, str):
            return bool(self.of(site))
        judged = site.library.module if site.library is not None else site.module
        kinds = {type(judged), *([type(site.module)] if self.own else [])}
        return any(re.fullmatch(self.of, each.__name__) for each in kinds)


_CHECKS: list[Registered] = []


def register(of: Any, name: str = "", *, own: bool = True) -> Callable[[C], C]:
    """Make a function a check of all modules of a class; see `ftlab.activations`.

    Raises
    ------
    BadValueError
        ``of`` is nothing that modules can be told by, or no regular expression.
    """
    if not isinstance(of, str) and not callable(of):
        msg = (
            f"of={of!r}: a check is for a class, a regular expression of its name, or "
            "what a function says of a site: register(MyNorm)."
        )
        raise BadValueError(msg)
    if isinstance(of, str):
        try:
            re.compile(of)
        except re.error as error:
            msg = (
                f"of={of!r} is no regular expression ({error}); of names it is matched "
                'with the whole: register(r".*Norm").'
            )
            raise BadValueError(msg) from error

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

    A loss that stands before it is none.

    Raises
    ------
    BadValueError
        There is none.
    """
    found = list(_tensors(value))
    if not found:
        msg = "there is no floating-point tensor in what the module gave."
        raise BadValueError(msg)
    return next((each for each in found if each.dim() > 1), found[0])


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        yield value
    inner = tuple(value.values()) if isinstance(value, Mapping) else value
    if isinstance(inner, tuple | list):
        for each in inner:
            yield from _tensors(each)
