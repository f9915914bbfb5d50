"""Rotary positions: base, layout and origin, read from the angles."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.laboratory.activations.component import Site, register
from ftlab.laboratory.activations.counterpart import is_library
from ftlab.records.activation import PartFault

ROTARY = r".*(Rotary|RoPE|Rope).*"
CLOSE = 2e-2
"""Part of an angle that rounding may take: cosines in bfloat16 are right to 0.4 %."""


@dataclass(frozen=True, slots=True)
class Angles:
    """What cosines and sines say.

    Attributes
    ----------
    pairs
        ``"halves"``: element i goes with i + d / 2; ``"neighbours"``: 2 i with 2 i + 1;
        ``""``: neither.
    speeds
        Angle from one position to the next, by pair.
    first
        Angle at position 0, as a number of positions.
    scale
        What both are multiplied by.
    """

    pairs: str
    speeds: torch.Tensor
    first: float
    scale: float

    @property
    def base(self) -> float:
        """The base of a plain rotary embedding; NaN where it is no such one."""
        count = len(self.speeds)
        if count < 2 or not bool((self.speeds > 0).all()):
            return float("nan")
        base = float((self.speeds[0] / self.speeds[-1]) ** (count / (count - 1)))
        plain = base ** (-torch.arange(count).double() / count)
        fits = torch.allclose(plain, self.speeds, rtol=CLOSE)
        return base if fits else float("nan")


@register(ROTARY, "rotary positions", own=False)
def rotary(site: Site) -> Iterator[PartFault]:
    """Compare angles with those of the library's module, made from the configuration."""
    mine = _angles(site, site.returned)
    if site.library is None:
        if not is_library(site.module) and mine is not None and not mine.pairs:
            yield site.fault(
                "cosines of the two elements of a pair differ, in halves and as "
                "neighbours: what is rotated is stretched",
                "Repeat them: torch.cat((angles, angles), -1).",
            )
        return
    expected = site.library.run(site.args, site.kwargs)
    if _close(site, expected):
        return
    theirs = _angles(site, expected)
    found = list(_told(mine, theirs)) if mine and theirs else []
    for said, fix in found:
        yield site.fault(said, fix)
    if not found:
        yield from site.against_library(())


def _told(mine: Angles, theirs: Angles) -> Iterator[tuple[str, str]]:
    if mine.pairs != theirs.pairs:
        yield (
            f"its pairs are {mine.pairs or 'neither halves nor neighbours'}, the "
            f"library's are {theirs.pairs}: queries and keys are rotated in wrong pairs",
            "Use torch.cat((angles, angles), -1) for halves (rotate_half of Llama and "
            "GPT-NeoX), repeat_interleave(2, -1) for neighbours (GPT-J).",
        )
        return
    same = mine.speeds.shape == theirs.speeds.shape
    if not same or not torch.allclose(mine.speeds, theirs.speeds, rtol=CLOSE):
        said = "its angles are not those that the configuration prescribes"
        if theirs.base == theirs.base and mine.base == mine.base:
            said = f"its base is {mine.base:,.0f}, the configuration says {theirs.base:,.0f}"
        yield said, "Take rope_theta (rope_parameters) from the configuration."
    elif abs(mine.first - theirs.first) > 0.05:
        yield (
            f"its first position is {mine.first:.2g}, not {theirs.first:.2g}",
            "Count from 0, or hand over position_ids.",
        )
    elif abs(mine.scale / theirs.scale - 1) > CLOSE:
        yield (
            f"cosines are scaled by {mine.scale:.4g}, not by {theirs.scale:.4g}",
            "Take attention_scaling from the configuration.",
        )


def _close(site: Site, expected: Any) -> bool:
    pair = site.returned, expected
    if not all(isinstance(each, tuple | list) and len(each) == 2 for each in pair):
        return site.close(*pair)
    return all(site.close(a, b) for a, b in zip(*pair, strict=True))


def _angles(site: Site, returned: Any) -> Angles | None:
    """Read cosines and sines of consecutive positions."""
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        return None
    cos, sin = (each.detach().double().cpu() for each in returned)
    if cos.dim() < 2 or cos.shape != sin.shape:
        return None
    cos, sin = (each.reshape(-1, *each.shape[-2:])[0] for each in (cos, sin))
    at = _positions(site, len(cos))
    if at is None:
        return None
    step, position = at
    scale = float((cos[step].square() + sin[step].square()).mean().sqrt())
    angle = torch.atan2(sin, cos)
    half = angle.shape[-1] // 2
    ways = {
        "halves": (angle[:, :half], angle[:, half:]),
        "neighbours": (angle[:, ::2], angle[:, 1::2]),
    }
    pairs = next(
        (
            n
            for n, (a, b) in ways.items()
            if a.shape == b.shape and torch.allclose(a, b, atol=CLOSE)
        ),
        "",
    )
    one = ways[pairs or "halves"][0]
    speeds = torch.remainder(one[step + 1] - one[step] + 1e-9, 2 * torch.pi)
    # the slowest that still shows: fast ones have gone round, slow ones are rounded
    slow = int((speeds - 0.05).abs().argmin())
    gone = float(one[step, slow] / speeds[slow].clamp(min=1e-12))
    turn = 2 * torch.pi / float(speeds[slow].clamp(min=1e-12))
    first = (gone - position + turn / 2) % turn - turn / 2
    return Angles(pairs, speeds, first, scale)


def _positions(site: Site, count: int) -> tuple[int, int] | None:
    """Return where two consecutive positions stand, and the first of them."""
    given = [*site.args, *site.kwargs.values()]
    ids = next(
        (
            e
            for e in given
            if isinstance(e, torch.Tensor)
            and not e.is_floating_point()
            and e.dim() >= 1
        ),
        None,
    )
    row = (
        torch.arange(count) if ids is None else ids.reshape(-1, ids.shape[-1])[0].cpu()
    )
    steps = (row.diff() == 1).nonzero().flatten()
    return (
        (int(steps[0]), int(row[steps[0]]))
        if len(row) == count and len(steps)
        else None
    )
