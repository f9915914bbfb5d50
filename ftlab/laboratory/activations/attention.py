"""Attention: its scale, mask, rotation and heads, beside the library's."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from ftlab.laboratory.activations.component import Mistake, Site, register
from ftlab.records.activation import PartFault

ATTENTION = r".*Attention.*|.*Attn.*"
EXACT = 1e-2
"""A scale is one of the known ones to that part."""
_Turn = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@register(ATTENTION, "attention", own=False)
def attention(site: Site) -> Iterator[PartFault]:
    """Compare with the library's, or look at the scale of its scores."""
    if site.comparable:
        yield from site.against_library(_mistakes(site))
        return
    scale, width = site.context.get("scale", (float("nan"), 0))
    if site.of_library or width < 4:
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
    library = site.library
    if library is None:
        return

    def run(helpers: dict[str, Any]) -> Any:
        return library.run(site.args, site.kwargs, helpers=helpers)

    def attending(said: str, fix: str, **knobs: Any) -> Mistake:
        helper = {"eager_attention_forward": partial(_attend, **knobs)}
        return Mistake(said, fix, partial(run, helper))

    module = library.module
    width = getattr(module, "head_dim", getattr(module, "head_size", 0)) or 1
    right = getattr(module, "scaling", None) or width**-0.5
    scales = {
        1.0: "scores that are not scaled",
        1 / width: "scores scaled by 1 / head_dim, not by its root",
        width**0.5: "scores multiplied by the root of head_dim",
        width**-0.25: "scores scaled by the fourth root of head_dim",
        width**-0.5: "scores scaled by 1 / sqrt(head_dim); the configuration does not",
    }
    for scale, said in scales.items():
        yield attending(said, f"Scale by {right:.4g}.", scale=scale)
    yield attending(
        "attention without the mask: tokens see later ones",
        "Add attention_mask to the scores, or pass is_causal.",
        masked=False,
    )
    yield attending(
        "heads of keys and values in the order of repeat, not of repeat_interleave",
        "Each key head serves neighbouring query heads: repeat_interleave(n, dim=1).",
        interleaved=False,
    )
    yield attending(
        "attention that sums keys, not values",
        "Multiply the weights by the values.",
        keys_as_values=True,
    )
    yield attending("softmax over the queries, not the keys", "softmax(-1).", over=-2)
    fix = "x * cos + rotate_half(x) * sin, queries and keys at the same positions."
    for said, turns in _ROTATIONS.items():
        helper: dict[str, Any] = {"apply_rotary_pos_emb": partial(_apply, turns)}
        helper["eager_attention_forward"] = _attend
        yield Mistake(said, fix, partial(run, helper))


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: Any = None,
    **given: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend as eager attention does, with one knob that may be set wrong."""
    times = query.shape[1] // key.shape[1]
    value = key if given.get("keys_as_values") else value
    if given.get("interleaved", True):
        key, value = (e.repeat_interleave(times, 1) for e in (key, value))
    else:
        key, value = (e.repeat(1, times, 1, 1) for e in (key, value))
    scale = given.get("scale", given.get("scaling")) or query.shape[-1] ** -0.5
    scores = query @ key.transpose(-1, -2) * scale
    cap = given.get("softcap")
    scores = (scores / cap).tanh() * cap if cap else scores
    seen = None
    if given.get("masked", True):
        if isinstance(mask, torch.Tensor):
            seen = mask[..., : key.shape[-2]]
        elif getattr(module, "is_causal", False):
            seen = torch.ones_like(scores[0, 0], dtype=torch.bool).tril()
    if seen is not None and seen.dtype == torch.bool:
        scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    elif seen is not None:
        scores = scores + seen
    weights = scores.float().softmax(given.get("over", -1)).to(query.dtype)
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


def _as_given(x: torch.Tensor) -> torch.Tensor:
    return x


def _not_turned(x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
    return x


def _turned(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    *,
    pairs: Callable[[torch.Tensor], torch.Tensor] = _half,
    angles: Callable[[torch.Tensor], torch.Tensor] = _as_given,
    sign: int = 1,
) -> torch.Tensor:
    """Rotate as the library does, with one knob that may be set wrong."""
    return x * angles(cos) + sign * pairs(x) * angles(sin)


_RIGHT: _Turn = _turned
_BACK: _Turn = partial(_turned, sign=-1)
_MIXED: _Turn = partial(_turned, pairs=_neighbours)
_PAIRED: _Turn = partial(_turned, pairs=_neighbours, angles=_spread)
_AHEAD: _Turn = partial(_turned, angles=_later)
_ROTATIONS: dict[str, tuple[_Turn, _Turn]] = {
    "rotations of neighbouring elements (GPT-J); the library's are of halves": (
        _PAIRED,
        _PAIRED,
    ),
    "rotations of neighbouring elements by the angles of halves": (_MIXED, _MIXED),
    "queries and keys without rotary positions": (_not_turned, _not_turned),
    "rotary positions for queries alone": (_RIGHT, _not_turned),
    "rotary positions for keys alone": (_not_turned, _RIGHT),
    "rotations the other way round for queries alone": (_BACK, _RIGHT),
    "rotations the other way round for keys alone": (_RIGHT, _BACK),
    "queries one position ahead of the keys": (_AHEAD, _RIGHT),
    "keys one position ahead of the queries": (_RIGHT, _AHEAD),
}


def _apply(
    turns: tuple[_Turn, _Turn],
    q: torch.Tensor,
    k: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    *_: Any,
    unsqueeze_dim: int = 1,
) -> tuple[torch.Tensor, torch.Tensor]:
    c, s = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return turns[0](q, c, s), turns[1](k, c, s)
