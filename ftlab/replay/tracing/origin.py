"""Which operation a non-finite value comes from.

Every non-finite tensor that an op of the step makes is marked with its origin, and the
mark is handed on to what is computed from it. At the end the loss and the gradients
are looked up. So an infinity that goes nowhere, a mask of -inf for example, is never
blamed, and what is blamed provably reached the loss or a gradient.

The rule: NaN from inputs without NaN, or infinity from finite inputs, begins there.
Infinities that a fill wrote or that came in from outside (masks) are legal: they are
blamed only if they themselves, not a NaN made of them, arrive at the loss.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from ftlab.replay.torch_private import reserve_key, storage_key
from ftlab.replay.tracing.finite import NonFinite, extent, float_leaves, non_finite
from ftlab.replay.tracing.site import Site
from ftlab.replay.tracing.traits import OpTraits, read_arguments, traits

Source = Literal[
    "op",
    "fill",
    "memory",
    "parameter",
    "buffer",
    "batch",
    "gradient",
    "state",
    "elsewhere",
]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where non-finite values come from.

    Attributes
    ----------
    index
        The op that made them, or the first that read them; -1 before any did.
    source
        An op, a fill, uninitialised memory, or a tensor that held them before the step.
    name
        The name of that tensor.
    legal
        Whether they may be intended.
    """

    index: int
    source: Source
    name: str = ""
    legal: bool = False


class Origins:
    """The marks of one survey."""

    def __init__(self) -> None:
        self._marks: dict[int, Origin] = {}
        self._reserved: dict[int, Any] = {}

    def register(self, source: Source, name: str, tensor: Any) -> None:
        """Mark a tensor that exists before the step, if it is non-finite."""
        for part in float_leaves(tensor):
            kind = non_finite(part)
            if kind is not None:
                self._mark(part, Origin(-1, source, name, _is_mask(source, part)))

    def arguments(
        self, site: Site, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[tuple[NonFinite, Origin | None]]:
        """Read the non-finite arguments of an op that writes some, before it runs."""
        read = [value for _, value in read_arguments(func, args, kwargs)]
        kinds = [(non_finite(tensor), tensor) for tensor in float_leaves(read)]
        return [(k, self._read(site, t)) for k, t in kinds if k is not None]

    def _read(self, site: Site, tensor: torch.Tensor) -> Origin | None:
        """Return a tensor's mark; what came in from outside begins where it is read."""
        mark = self._marks.get(storage_key(tensor))
        if mark is not None and mark.index < 0:
            return replace(mark, index=site.index)
        return mark

    def record(
        self,
        site: Site,
        func: Any,
        sources: list[tuple[NonFinite, Origin | None]] | None,
        call: tuple[tuple[Any, ...], dict[str, Any]],
        outputs: Any,
    ) -> None:
        """Mark the outputs of an op that has run.

        Parameters
        ----------
        sources
            What `arguments` returned before the op ran, or ``None`` to read it now.
        call
            The op's arguments.
        """
        what = traits(func)
        if what.view:
            return
        for tensor in float_leaves(outputs):
            if what.uninitialised:
                self._mark(tensor, Origin(site.index, "memory", legal=True))
                continue
            kind = non_finite(tensor)
            if kind is None:
                if not what.written:
                    self._marks.pop(storage_key(tensor), None)
                continue
            if sources is None:
                sources = self.arguments(site, func, *call)
            self._mark(tensor, _blame(site, what, kind, sources))

    def _mark(self, tensor: torch.Tensor, origin: Origin) -> None:
        key = storage_key(tensor)
        self._marks[key] = origin
        # What another thread makes is unseen; it must not inherit a mark.
        self._reserved.setdefault(key, reserve_key(tensor))

    def trace(self, tensors: Iterable[torch.Tensor]) -> Origin | None:
        """Return the earliest origin of what is non-finite in ``tensors``."""
        marks = [
            self._marks.get(storage_key(tensor))
            for tensor in tensors
            if non_finite(tensor) is not None
        ]
        return _earliest([mark for mark in marks if mark is not None])


def _is_mask(source: Source, tensor: torch.Tensor) -> bool:
    """Whether infinities that come in may be intended: masks are minus infinity."""
    if source not in ("buffer", "batch"):
        return False
    low, high = extent(tensor) or (0.0, 0.0)
    return low == -math.inf and high < math.inf


def _earliest(origins: Sequence[Origin]) -> Origin | None:
    unintended = [origin for origin in origins if not origin.legal]
    return min(unintended or origins, key=lambda o: o.index, default=None)


def _blame(
    site: Site,
    what: OpTraits,
    kind: NonFinite,
    sources: list[tuple[NonFinite, Origin | None]],
) -> Origin:
    known = [origin for _, origin in sources if origin is not None]
    if any(not origin.legal for origin in known):
        first = _earliest(known)
        if first is not None:
            return first
    if not sources:
        return Origin(site.index, "fill" if what.fill else "op", legal=what.fill)
    if any(origin is None and found == "nan" for found, origin in sources):
        return Origin(site.index, "elsewhere")
    if kind == "nan" and all(found == "inf" for found, _ in sources):
        return Origin(site.index, "op")
    first = _earliest(known)
    return first or Origin(site.index, "elsewhere", legal=True)
