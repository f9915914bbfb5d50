"""Attention: its scale, mask, rotation and heads, beside the library's."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from ftlab.laboratory.activations.component import Mistake, Site, register
from ftlab.laboratory.activations.counterpart import is_library
from ftlab.records.activation import PartFault

ATTENTION = r".*Attention.*|.*Attn.*"
EXACT = 1e-2
"""A scale is one of the known ones to that part."""

Rotation = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@register(ATTENTION, "attention", own=False)
def attention(site: Site) -> Iterator[PartFault]:
    """Compare with the library's, or look at the scale of its scores."""
    if site.library is not None:
        yield from site.against_library(_mistakes(site))
        return
    scale, width = site.context.get("scale", (float("nan"), 0))
    if is_library(site.module) or width < 4:
        return
    ways = {
        1.0: "not scaled",
        1 / width: f"scaled by 1 / {width}: the head's width, not its root",
        width**0.5: "multiplied by the root of the head's width",
    }
    for wrong, said in ways.items():
        if abs(scale / wrong - 1) < EXACT:
            fix = f"Scale by head_dim ** -0.5, here {width**-0.5:.4g}"
            fix += "; 1 / head_dim is meant with muP." if wrong < 1 else "."
            yield site.fault(f"products of queries and keys are {said}", fix, "warning")


def _mistakes(site: Site) -> Iterator[Mistake]:
    module = site.library.module if site.library else site.module
    width = getattr(module, "head_dim", getattr(module, "head_size", 0)) or 1
    right = getattr(module, "scaling", width**-0.5)
    fix = f"Scale by {right:.4g}." if isinstance(right, float) else ""
    scales = {
        1.0: "scores that are not scaled",
        1 / width: "scores scaled by 1 / head_dim, not by its root",
        width**0.5: "scores multiplied by the root of head_dim",
        width**-0.25: "scores scaled by the fourth root of head_dim",
        width**-0.5: "scores scaled by 1 / sqrt(head_dim), where the configuration "
        "asks for another scale",
    }
    for scale, said in scales.items():
        yield _attending(site, said, fix, scale=scale)
    yield _attending(
        site,
        "attention without the mask: tokens see later ones",
        "Add attention_mask to the scores, or pass is_causal.",
        masked=False,
    )
    yield _attending(
        site,
        "heads of keys and values in the wrong order: repeat in place of "
        "repeat_interleave",
        "Each key head serves neighbouring query heads: repeat_interleave(n, dim=1).",
        interleaved=False,
    )
    yield _attending(
        site,
        "softmax over the queries, not over the keys",
        "softmax(dim=-1).",
        over=-2,
    )
    for said, rotate in _ROTATIONS.items():
        yield Mistake(
            said,
            "Rotate as the library does: x * cos + rotate_half(x) * sin, queries and "
            "keys at the same positions.",
            partial(_run, site, {"apply_rotary_pos_emb": _applied(rotate)}),
        )


def _attending(site: Site, said: str, fix: str, **knobs: Any) -> Mistake:
    helpers = {
        "ALL_ATTENTION_FUNCTIONS": _Always(partial(_attend, **knobs)),
        "eager_attention_forward": partial(_attend, **knobs),
    }
    return Mistake(said, fix, partial(_run, site, helpers))


def _run(site: Site, helpers: dict[str, Any]) -> Any:
    return site.library and site.library.run(site.args, site.kwargs, helpers=helpers)


class _Always(dict[str, Any]):
    """Stands for the library's table of attention functions."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function

    def get_interface(self, *_: Any) -> Any:
        return self._function

    def __getitem__(self, _: str) -> Any:
        return self._function


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any = None,
    scaling: float | None = None,
    *,
    scale: float | None = None,
    masked: bool = True,
    interleaved: bool = True,
    over: int = -1,
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend, with one knob that may be set wrong."""
    times = query.shape[1] // key.shape[1]
    if times > 1:
        key, value = (
            e.repeat_interleave(times, 1) if interleaved else e.repeat(1, times, 1, 1)
            for e in (key, value)
        )
    chosen = scale if scale is not None else scaling
    chosen = query.shape[-1] ** -0.5 if chosen is None else chosen
    scores = query @ key.transpose(-1, -2) * chosen
    if masked and isinstance(attention_mask, torch.Tensor):
        hidden = attention_mask[..., : key.shape[-2]]
        if hidden.dtype == torch.bool:
            scores = scores.masked_fill(~hidden, torch.finfo(scores.dtype).min)
        else:
            scores = scores + hidden
    elif masked and getattr(module, "is_causal", False):
        seen = torch.ones(scores.shape[-2:], device=scores.device).tril().bool()
        scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    weights = scores.float().softmax(over).to(query.dtype)
    return (weights @ value).transpose(1, 2).contiguous(), weights


def _half(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def _neighbours(x: torch.Tensor) -> torch.Tensor:
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


def _spread(x: torch.Tensor) -> torch.Tensor:
    """Turn angles of halves into those of neighbours."""
    return x[..., : x.shape[-1] // 2].repeat_interleave(2, -1)


def _later(x: torch.Tensor) -> torch.Tensor:
    return torch.cat((x[..., 1:, :], x[..., -1:, :]), -2)


def _as_it_is(x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
    return x


def _right(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return x * cos + _half(x) * sin


def _paired(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return x * _spread(cos) + _neighbours(x) * _spread(sin)


def _mixed(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return x * cos + _neighbours(x) * sin


def _back(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return x * cos - _half(x) * sin


def _ahead(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return _right(x, _later(cos), _later(sin))


_ROTATIONS: dict[str, tuple[Rotation, Rotation]] = {
    "rotations of neighbouring elements (GPT-J), where the library rotates halves": (
        _paired,
        _paired,
    ),
    "rotations of neighbouring elements by the angles of halves": (_mixed, _mixed),
    "queries and keys without rotary positions": (_as_it_is, _as_it_is),
    "rotary positions for queries alone": (_right, _as_it_is),
    "rotary positions for keys alone": (_as_it_is, _right),
    "rotations the other way round for queries alone": (_back, _right),
    "rotations the other way round for keys alone": (_right, _back),
    "rotations the other way round": (_back, _back),
    "queries one position ahead of the keys": (_ahead, _right),
    "keys one position ahead of the queries": (_right, _ahead),
}


def _applied(rotate: tuple[Rotation, Rotation]) -> Any:
    def apply(
        q: torch.Tensor,
        k: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        *rest: Any,
        **named: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        at = named.get("unsqueeze_dim", 1)
        cos, sin = cos.unsqueeze(at), sin.unsqueeze(at)
        return rotate[0](q, cos, sin), rotate[1](k, cos, sin)

    return apply
