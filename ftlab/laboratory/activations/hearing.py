"""What attention and activations do within a forward, heard where torch is called.

The user's attention need not return its weights, nor be of any known class: softmax
over keys, `scaled_dot_product_attention` and activation functions are heard as they are
called, and what is heard is put down to the block that is running.
"""

from collections import defaultdict
from typing import Any, NamedTuple

import torch
from torch.nn import functional
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from ftlab.executions.tokens import Grid

QUERIES = 128
"""Tokens whose attention is taken, evenly from first to last; all where fewer are."""

_INF, _METHODS = float("inf"), torch.Tensor
_SOFTMAX = {torch.softmax, functional.softmax, _METHODS.softmax}
_ADDED = {torch.baddbmm, _METHODS.baddbmm}
_PRODUCTS = {torch.matmul, torch.bmm, _METHODS.matmul, _METHODS.bmm, *_ADDED}
_PRODUCTS.add(_METHODS.__matmul__)
_RANGES: dict[tuple[Any, ...], tuple[float, float]] = {
    (functional.relu, torch.relu, _METHODS.relu): (0.0, _INF),
    (functional.gelu,): (-4.0, _INF),
    (functional.silu,): (-8.0, _INF),
    (torch.sigmoid, _METHODS.sigmoid): (-5.0, 5.0),
    (torch.tanh, _METHODS.tanh): (-3.0, 3.0),
}
"""Inputs below which a unit is off and above which it is at its bound: there gelu is
-1e-4, silu -3e-3, a sigmoid 0.7 % and tanh 0.5 % from its bound."""

_OFF = {each: span for functions, span in _RANGES.items() for each in functions}
IN_GELU = (-5.5, _INF)
"""The same for the tanh that approximates a gelu."""


class Units(NamedTuple):
    """Lowest and highest input of each unit of an activation, and where it is off."""

    low: torch.Tensor
    high: torch.Tensor
    off: tuple[float, float]


class Hearing(TorchFunctionMode):
    """Hears attention and activations, while ``hearing``.

    Attributes
    ----------
    block, module, gelu
        Which block and which attention are running, and whether a gelu is, whatever it
        is made of.
    entropies, units
        By block: of attention over an even one's; and what activations were given.
    scales
        By path of the module that attends: what products of queries and keys were
        multiplied by, the head's width, and the RMS of both.
    """

    def __init__(self, grid: Grid | None) -> None:
        super().__init__()
        self.block = self.module = ""
        self.hearing, self.gelu = True, False
        self.entropies: dict[str, list[float]] = defaultdict(list)
        self.units: dict[str, list[Units]] = defaultdict(list)
        self.scales: dict[str, tuple[float, int, float, float]] = {}
        self.failed: list[str] = []
        self._grid = grid
        self._product: tuple[Any, ...] = ()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func``, and take what it is given."""
        result = func(*args, **(kwargs or {}))
        if self.hearing and self.block:
            try:
                self._take(func, args, kwargs or {}, result)
            except Exception as error:  # noqa: BLE001  the user's forward goes on
                said = f"{type(error).__name__}: {str(error)[:120]}"
                self.failed.append(f"attention and units of {self.block} ({said})")
        return result

    def _take(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        given = args[0] if args else kwargs.get("input")
        if func in _PRODUCTS and result.dim() >= 3:
            pair = args[int(func in _ADDED) :][:2]
            self._product = (result, *pair) if len(pair) > 1 else ()
        elif func in _SOFTMAX:
            self._softmax(given, result)
        elif func is scaled_dot_product_attention:
            self._sdpa(args, kwargs)
        elif func in _OFF:
            self._activation(given, _OFF[func])

    def _softmax(self, scores: torch.Tensor, weights: torch.Tensor) -> None:
        """Take weights of attention; softmax over experts or words is none."""
        raw, query, key = self._product or (None, None, None)
        known = raw is not None and raw.shape[-2:] == weights.shape[-2:]
        if weights.dim() < 3 or not (known or weights.dim() == 4):
            return
        rows = _some(weights.shape[-2])
        self._note(weights[..., rows, :].float(), rows, weights.shape[-2])
        if known and raw is not None and raw.numel() == scores.numel():
            shown = scores.reshape(raw.shape)
            clear = (raw.abs() > 0.1 * raw.abs().mean()) & (shown > -1e4)
            ratios = (shown[clear] / raw[clear]).double()
            middle = ratios.median() if ratios.numel() else torch.tensor(0.0)
            near = (ratios - middle).abs() <= 1e-2 * middle.abs()
            if near.numel() and float(near.double().mean()) > 0.9:
                self._put_scale(float(middle), query, key.transpose(-1, -2))
        self._product = ()

    def _put_scale(self, scale: float, query: Any, key: Any) -> None:
        if self.module:
            sizes = rms_of(query), rms_of(key)
            self.scales[self.module] = (scale, int(query.shape[-1]), *sizes)

    def _sdpa(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        given = dict(zip(names, args, strict=False)) | kwargs
        query, key, mask = given["query"], given["key"], given.get("attn_mask")
        scale = given.get("scale") or query.shape[-1] ** -0.5
        self._put_scale(float(scale), query, key)
        rows = _some(query.shape[-2]).to(query.device)
        if key.dim() == 4 and key.shape[1] != query.shape[1]:
            key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
        scores = (query[..., rows, :] @ key.transpose(-1, -2)).float() * scale
        if given.get("is_causal"):
            at = torch.arange(key.shape[-2], device=query.device)
            scores = scores.masked_fill(at > rows[:, None], -_INF)
        if mask is not None:
            part = mask[..., rows, :] if mask.shape[-2] > 1 else mask
            whole = part.dtype == torch.bool
            scores = scores.masked_fill(~part, -_INF) if whole else scores + part
        self._note(scores.softmax(-1), rows, query.shape[-2])

    def _note(self, weights: torch.Tensor, rows: torch.Tensor, queries: int) -> None:
        """Add the mean entropy over that of an even attention to as many keys."""
        entropy = -torch.special.xlogy(weights, weights).sum(-1)
        seen = (weights > 0).sum(-1)
        usable = (seen > 1) & entropy.isfinite()
        grid = self._grid
        if grid is not None and grid.shape == (len(weights), queries):
            real = torch.zeros(grid.shape, dtype=torch.bool)
            real[grid.rows, grid.positions] = True
            part = real[:, rows.cpu()].to(weights.device)
            usable &= part.reshape(len(part), *[1] * (usable.dim() - 2), -1)
        if bool(usable.any()):
            share = float((entropy[usable] / seen[usable].log()).mean())
            self.entropies[self.block].append(share)

    def _activation(self, given: torch.Tensor, off: tuple[float, float]) -> None:
        """Note the range of each unit over the batch's tokens."""
        off = IN_GELU if self.gelu and off[0] == -3.0 else off
        grid = self._grid
        layout = (
            grid.layout(given) if grid is not None and given.dim() in (2, 3) else ""
        )
        if grid is not None and layout in ("rows", "flat") and len(grid.rows):
            cells = grid.cells(given.detach(), layout)
            self.units[self.block].append(Units(cells.amin(0), cells.amax(0), off))


def rms_of(tensor: torch.Tensor) -> float:
    """Return the root of the mean square."""
    return float(tensor.detach().double().square().mean().sqrt())


def _some(count: int) -> torch.Tensor:
    return torch.linspace(0, count - 1, min(count, QUERIES)).long()
