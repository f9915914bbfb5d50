"""Rotary positions: base, layout and origin, read from the angles."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from ftlab.laboratory.activations.component import Site, register
from ftlab.records.activation import PartFault

ROTARY = r".*(Rotary|RoPE|Rope).*"
CLOSE = 2e-2
"""Part of an angle that rounding may take: cosines in bfloat16 are right to 0.4 %."""


class Angles(NamedTuple):
    """What cosines and sines say.

    ``pairs`` is ``"halves"`` where element i goes with i + d / 2, ``"neighbours"``
    where 2 i goes with 2 i + 1, or empty; ``first`` is the angle at position 0, as a
    number of positions. ``mixed``: each angle is there twice, in no such order.
    """

    pairs: str
    speeds: torch.Tensor
    first: float
    scale: float
    mixed: bool = False

    @property
    def base(self) -> float:
        """The base of a plain rotary embedding; 0 where it is no such one."""
        count = len(self.speeds)
        if count < 2 or not bool((self.speeds > 0).all()):
            return 0.0
        base = float((self.speeds[0] / self.speeds[-1]) ** (count / (count - 1)))
        plain = base ** (-torch.arange(count).double() / count)
        return base if torch.allclose(plain, self.speeds, rtol=CLOSE) else 0.0


@register(ROTARY, "rotary positions", own=False)
def rotary(site: Site) -> Iterator[PartFault]:
    """Compare angles with those that the library makes of the configuration."""
    mine = _angles(site, site.returned)
    if site.library is None:
        if not site.of_library and mine is not None and mine.mixed:
            said = "cosines differ within a pair, in halves and as neighbours: what is "
            fix = "Repeat the angles: torch.cat((angles, angles), -1)."
            yield site.fault(f"{said}rotated is stretched", fix)
        return
    expected = site.expected()
    pair = site.returned, expected
    both = all(isinstance(each, tuple) and len(each) == 2 for each in pair)
    if both and all(site.close(a, b) for a, b in zip(*pair, strict=True)):
        return
    theirs = _angles(site, expected)
    found = _told(mine, theirs) if mine and theirs else None
    if found:
        yield site.fault(*found)
    else:
        yield from site.against_library(())


def _told(mine: Angles, theirs: Angles) -> tuple[str, str] | None:
    if mine.pairs != theirs.pairs:
        return (
            f"its pairs are {mine.pairs or 'neither halves nor neighbours'}, the "
            f"library's are {theirs.pairs}: it rotates the wrong elements together",
            "torch.cat((angles, angles), -1) makes halves (rotate_half of Llama and "
            "GPT-NeoX), repeat_interleave(2, -1) neighbours (GPT-J).",
        )
    same = mine.speeds.shape == theirs.speeds.shape
    if not same or not torch.allclose(mine.speeds, theirs.speeds, rtol=CLOSE):
        said = "its angles are not those that the configuration prescribes"
        if theirs.base and mine.base:
            bases = [f"{float(f'{e.base:.2g}'):,.0f}" for e in (mine, theirs)]
            said = f"its base is {bases[0]}, the configuration says {bases[1]}"
        return said, "Take rope_theta (rope_parameters) from the configuration."
    if abs(mine.first - theirs.first) > 0.05:
        said = f"its first position is {mine.first:.2g}, not {theirs.first:.2g}"
        return said, "Count from 0, or hand over position_ids."
    if abs(mine.scale / theirs.scale - 1) > CLOSE:
        said = f"cosines are scaled by {mine.scale:.4g}, not by {theirs.scale:.4g}"
        return said, "Take attention_scaling from the configuration."
    return None


def _angles(site: Site, returned: Any) -> Angles | None:
    """Read cosines and sines of two consecutive positions."""
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        return None
    cos, sin = (each.detach().double().cpu() for each in returned)
    if cos.dim() < 2 or cos.shape != sin.shape:
        return None
    cos, sin = (each.reshape(-1, *each.shape[-2:])[0] for each in (cos, sin))
    given = (e for e in (*site.args, *site.kwargs.values()) if _are_positions(e))
    ids = next(given, torch.arange(len(cos)))
    row = ids.reshape(-1, ids.shape[-1])[0].cpu()
    steps = (row.diff() == 1).nonzero().flatten()
    if len(row) != len(cos) or not len(steps):
        return None
    step = int(steps[0])
    angle = torch.atan2(sin, cos)[step : step + 2]
    half = angle.shape[-1] // 2
    ways = {
        "halves": (angle[:, :half], angle[:, half:]),
        "neighbours": (angle[:, ::2], angle[:, 1::2]),
    }
    fitting = (name for name, (a, b) in ways.items() if _same(a, b))
    pairs = next(fitting, "")
    one = ways[pairs or "halves"][0]
    turn = 2 * torch.pi
    speeds = torch.remainder(one[1] - one[0] + 1e-9, turn)
    # a middle one: fast ones have gone round, slow ones are rounded
    slow = int((speeds - 0.05).abs().argmin())
    round_ = turn / float(speeds[slow].clamp(min=1e-12))
    gone = float(one[0, slow]) / turn * round_ - int(row[step])
    size = (cos[step].square() + sin[step].square()).sqrt()
    if float(size.std()) > CLOSE * float(size.mean()):
        return None  # a rotated query and key, and no angles
    ordered = angle[1].sort().values
    mixed = not pairs and _same(ordered[: 2 * half : 2], ordered[1::2])
    first = (gone + round_ / 2) % round_ - round_ / 2
    return Angles(pairs, speeds, first, float(size.mean()), mixed)


def _are_positions(value: Any) -> bool:
    whole = isinstance(value, torch.Tensor) and not value.is_floating_point()
    return whole and value.dim() >= 1


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, atol=CLOSE)
