"""The same computation in double precision, without a copy of the model.

A dispatch mode sees each operation below autograd and autocast. It widens what the
operation is given, weights included, and what it is told to cast to; so nothing of the
computation is rounded as it would be, and two ways to the same result agree to about
1e-15. What is asked is what the code computes, not how well.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_map

from ftlab.replay.torch_private import (
    TorchDispatchMode,
    current_node,
    graph_task,
    storage_key,
)
from ftlab.replay.tracing.site import within_checkpoint
from ftlab.replay.tracing.traits import traits

NARROW = frozenset({torch.float32, torch.bfloat16, torch.float16})
"""What is widened."""


class Wide(TorchDispatchMode):
    """Compute everything in ``dtype``.

    Operations of other libraries (a 4-bit kernel), and those that torch does not have
    in this dtype, are given float32, and what they return is widened. What is changed
    in place keeps its dtype.

    Parameters
    ----------
    dtype
        What is computed in.
    rounding, weights
        Spacing of the values that these weights are rounded to, relative: each is moved
        by up to half of it, at random.

    Attributes
    ----------
    unable
        Operations of torch that do not compute in ``dtype``.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.wide import Wide
    >>> layer, x = torch.nn.Linear(3, 3).bfloat16(), torch.ones(1, 3).bfloat16()
    >>> with torch.no_grad(), Wide():
    ...     layer(x).dtype
    torch.float64
    """

    def __init__(
        self,
        dtype: torch.dtype = torch.float64,
        *,
        rounding: float = 0.0,
        weights: Iterable[torch.Tensor] = (),
    ) -> None:
        super().__init__()
        self.dtype = dtype
        self._rounding = rounding
        self._moved = {storage_key(weight) for weight in weights} if rounding else set()
        self.unable: set[Any] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` on wide values."""
        kwargs = kwargs or {}
        if func.namespace not in ("aten", "prims") or func in self.unable:
            return self._as_known(func, args, kwargs)
        written = traits(func).written
        if (func.is_view and not written) or _of_autograd(func):
            return func(*args, **kwargs)
        pairs: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
        kept = [v for k, v in pairs if k in written and isinstance(v, torch.Tensor)]
        narrow = bool(kept) and kept[0].dtype in NARROW
        cast = partial(self._cast, kept, kept[0].dtype if narrow else self.dtype)
        wide_args, wide_kwargs = tree_map(cast, (args, kwargs))
        try:
            if func is _GROUPED:  # its other arguments are not used for experts
                return _grouped_mm(*wide_args[:3], **wide_kwargs)
            return func(*wide_args, **wide_kwargs)
        except RuntimeError:
            if written:  # what it has begun to change cannot be taken back
                raise
            made = self._as_known(func, args, kwargs)
            self.unable.add(func)
            return made

    def _cast(self, kept: list[torch.Tensor], target: torch.dtype, value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return target if value in NARROW else value
        if not isinstance(value, torch.Tensor) or any(value is each for each in kept):
            return value
        if value.dtype not in NARROW and value.dtype != self.dtype:
            return value
        if self._moved and storage_key(value) in self._moved:
            return self._rounded(value.to(target))
        return value.to(target)

    def _rounded(self, weight: torch.Tensor) -> torch.Tensor:
        off = torch.rand(weight.shape, device=weight.device, dtype=weight.dtype) - 0.5
        return weight * (1 + self._rounding * off)

    def _as_known(self, func: Any, args: Any, kwargs: Any) -> Any:
        known_args, known_kwargs = tree_map(self._narrowed, (args, kwargs))
        return tree_map(self._widened, func(*known_args, **known_kwargs))

    def _narrowed(self, value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return torch.float32 if value in NARROW else value
        floats = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.float() if floats and value.dtype.itemsize > 1 else value

    def _widened(self, value: Any) -> Any:
        narrow = isinstance(value, torch.Tensor) and value.dtype in NARROW
        return value.to(self.dtype) if narrow else value


def _of_autograd(func: Any) -> bool:
    """Say whether autograd casts a gradient to its tensor's dtype, or a hook has it."""
    if type(current_node()).__name__ == "AccumulateGrad":
        return True
    cast = func is torch.ops.aten._to_copy.default  # noqa: SLF001  an operation's name
    return cast and graph_task() != -1 and not within_checkpoint()


_GROUPED = torch.ops.aten._grouped_mm.default  # noqa: SLF001  an operation's name


def _grouped_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    offs: torch.Tensor | None = None,
) -> torch.Tensor:
    """Multiply the experts of a mixture one by one; torch has no double for it."""
    if offs is None:
        return a @ b
    ends = offs.tolist()
    parts = [slice(low, high) for low, high in zip([0, *ends], ends, strict=False)]
    if a.dim() == b.dim() == 2:
        return torch.stack([a[:, part] @ b[part] for part in parts])
    if a.dim() == 2:
        made = a.new_zeros(a.shape[0], b.shape[-1])
        for group, part in enumerate(parts):
            made[part] = a[part] @ b[group]
        return made
    made = a.new_zeros(a.shape[1], b.shape[1])
    for group, part in enumerate(parts):
        made[:, part] = a[group] @ b[:, part]
    return made
