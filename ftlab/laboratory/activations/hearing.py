"""What attention and activations do within a forward, heard where torch is called.

The user's attention need not return its weights, nor be of any known class: softmax
over keys, `scaled_dot_product_attention` and activation functions are heard as they are
called, and what is heard is put down to the block that is running.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch.nn import functional
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from ftlab.executions.tokens import Grid

QUERIES = 128
"""Tokens whose attention is taken, evenly from first to last; all where fewer are."""

_SOFTMAX = {torch.softmax, functional.softmax, torch.Tensor.softmax}
_PRODUCTS = {
    torch.matmul,
    torch.bmm,
    torch.Tensor.matmul,
    torch.Tensor.__matmul__,
    torch.Tensor.bmm,
    torch.baddbmm,
    torch.Tensor.baddbmm,
}
_ADDED = {torch.baddbmm, torch.Tensor.baddbmm}
_OFF: Mapping[Any, tuple[float, float]] = {
    functional.relu: (0.0, float("inf")),
    torch.relu: (0.0, float("inf")),
    torch.Tensor.relu: (0.0, float("inf")),
    functional.gelu: (-4.0, float("inf")),
    functional.silu: (-8.0, float("inf")),
    torch.sigmoid: (-5.0, 5.0),
    torch.Tensor.sigmoid: (-5.0, 5.0),
    torch.tanh: (-3.0, 3.0),
    torch.Tensor.tanh: (-3.0, 3.0),
}
"""Inputs below which a unit is off and above which it is at its bound: there gelu is
-1e-4, silu -3e-3, a sigmoid 0.7 % and tanh 0.5 % from its bound."""

IN_GELU = (-5.5, float("inf"))
"""The same for the tanh that approximates a gelu."""


@dataclass(slots=True)
class Units:
    """Lowest and highest input of each unit of an activation."""

    low: torch.Tensor
    high: torch.Tensor
    off: tuple[float, float]


@dataclass(slots=True)
class Heard:
    """What was heard within one block."""

    entropies: list[float] = field(default_factory=list)
    units: list[Units] = field(default_factory=list)


class Size(NamedTuple):
    """Norm and count of a tensor's elements."""

    norm: float
    count: int


@dataclass(frozen=True, slots=True)
class Scores:
    """By what products of queries and keys were multiplied, and what was multiplied."""

    scale: float
    width: int
    query: Size
    key: Size

    def over(self, query: Size, key: Size) -> float:
        """Return the scale over products of what projections returned.

        Queries may be scaled before the product; positions and heads that are turned or
        repeated change no norm per element.
        """
        if not query.norm or not key.norm:
            return float("nan")
        q, k = (
            each.norm / other.norm * (other.count / each.count) ** 0.5
            for each, other in ((self.query, query), (self.key, key))
        )
        return self.scale * q * k


class Hearing(TorchFunctionMode):
    """Hears attention and activations; ``within`` says in which block and module.

    Attributes
    ----------
    heard
        By path of the block.
    scores
        By path of the module that attends.
    gelu
        Whether a module of that name is running, whatever it is made of.
    """

    def __init__(self, grid: Grid | None) -> None:
        super().__init__()
        self.heard: dict[str, Heard] = {}
        self.scores: dict[str, Scores] = {}
        self.block, self.module = "", ""
        self.failed: list[str] = []
        self.hearing, self.gelu = True, False
        self._grid = grid
        self._product: tuple[Any, ...] = ()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, and take what it is given."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if self.hearing and self.block:
            try:
                self._take(func, args, kwargs, result)
            except Exception as error:  # noqa: BLE001  the user's forward goes on
                said = f"{type(error).__name__}: {str(error)[:120]}"
                self.failed.append(f"attention and units of {self.block} ({said})")
        return result

    def _take(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        given = args[0] if args else kwargs.get("input")
        if func in _PRODUCTS and result.dim() >= 3:
            at = int(func in _ADDED)
            pair = args[at : at + 2]
            self._product = (result.shape[-2:], *pair, result) if len(pair) > 1 else ()
        elif func in _SOFTMAX:
            self._softmax(given, result)
        elif func is scaled_dot_product_attention:
            self._sdpa(args, kwargs)
        elif func in _OFF:
            self._activation(given, _OFF[func])

    def _here(self) -> Heard:
        return self.heard.setdefault(self.block, Heard())

    def _softmax(self, scores: torch.Tensor, weights: torch.Tensor) -> None:
        """Take weights of attention; softmax over experts or words is none."""
        known = bool(self._product) and self._product[0] == weights.shape[-2:]
        if weights.dim() < 3 or not (known or weights.dim() == 4):
            return
        rows = _some(weights.shape[-2])
        self._note(weights[..., rows, :].float(), rows, weights.shape[-2])
        if known and self._product[3].numel() == scores.numel():
            raw = self._product[3]
            self._scale(scores.reshape(raw.shape), raw, *self._product[1:3])
        self._product = ()

    def _scale(self, scores: Any, raw: Any, query: Any, key: Any) -> None:
        """Note by what scores are larger than products of the projections."""
        clear = (raw.abs() > 0.1 * raw.abs().mean()) & (scores > -1e4)
        ratios = (scores[clear] / raw[clear]).double()
        if not ratios.numel():
            return
        middle = ratios.median()
        if bool(((ratios - middle).abs() <= 1e-2 * middle.abs()).double().mean() > 0.9):
            self._put_scale(float(middle), query, key.transpose(-1, -2))

    def _put_scale(self, scale: float, query: Any, key: Any) -> None:
        if self.module:
            sizes = tuple(size_of(each) for each in (query, key))
            self.scores[self.module] = Scores(scale, int(query.shape[-1]), *sizes)

    def _sdpa(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        given = dict(zip(names, args, strict=False)) | kwargs
        query, key, mask = given["query"], given["key"], given.get("attn_mask")
        if query.dim() < 3 or key.shape[-1] != query.shape[-1]:
            return
        scale = given.get("scale") or query.shape[-1] ** -0.5
        self._put_scale(float(scale), query, key)
        rows = _some(query.shape[-2]).to(query.device)
        if key.dim() == 4 and key.shape[1] != query.shape[1]:
            key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
        scores = (query[..., rows, :] @ key.transpose(-1, -2)).float() * scale
        if given.get("is_causal"):
            at = torch.arange(key.shape[-2], device=query.device)
            scores = scores.masked_fill(at > rows[:, None], float("-inf"))
        if mask is not None:
            part = mask[..., rows, :] if mask.shape[-2] > 1 else mask
            if part.dtype == torch.bool:
                scores = scores.masked_fill(~part, float("-inf"))
            else:
                scores = scores + part
        self._note(scores.softmax(-1), rows, query.shape[-2])

    def _note(self, weights: torch.Tensor, rows: torch.Tensor, queries: int) -> None:
        """Add the mean entropy over that of an even attention to as many keys."""
        entropy = -torch.special.xlogy(weights, weights).sum(-1)
        seen = (weights > 0).sum(-1)
        usable = (seen > 1) & entropy.isfinite()
        grid = self._grid
        if (
            grid is not None
            and queries == grid.shape[1]
            and len(weights) == grid.shape[0]
        ):
            real = torch.zeros(grid.shape, dtype=torch.bool)
            real[grid.rows, grid.positions] = True
            part = real[:, rows.cpu()].to(weights.device)
            usable &= part.reshape(len(part), *[1] * (usable.dim() - 2), -1)
        if bool(usable.any()):
            share = entropy[usable] / seen[usable].log()
            self._here().entropies.append(float(share.mean()))

    def _activation(self, given: torch.Tensor, off: tuple[float, float]) -> None:
        """Note the range of each unit; a gate of attention or of experts is small."""
        if self.gelu:
            off = IN_GELU if off[0] == -3.0 else off
        grid = self._grid
        layout = grid.layout(given) if grid is not None and given.dim() > 1 else None
        if grid is None or layout not in ("rows", "flat") or given.dim() > 3:
            return
        cells = grid.cells(given.detach(), layout).float()
        if len(cells):
            low, high = cells.amin(0), cells.amax(0)
            self._here().units.append(Units(low, high, off))


def size_of(tensor: torch.Tensor) -> Size:
    """Return norm and count of a tensor."""
    return Size(float(tensor.detach().double().norm()), tensor.numel())


def _some(count: int) -> torch.Tensor:
    return torch.linspace(0, count - 1, min(count, QUERIES)).long()
