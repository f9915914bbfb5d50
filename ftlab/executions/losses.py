"""What a module loses in the precision in use, beside what it loses in float32."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ftlab.executions.floors import floor_of
from ftlab.executions.listening import Place
from ftlab.executions.passes import Beside, Distances
from ftlab.executions.side import Side, start_again, undisturbed
from ftlab.executions.spool import Spool
from ftlab.executions.tape import Recording, Tape
from ftlab.executions.tokens import Grid, Meeting


@dataclass(slots=True)
class Lost:
    """Errors of each module on its own, over those that rounding explains.

    Attributes
    ----------
    values, gradients
        Ratios by place, float64, shape (cells,).
    """

    values: dict[Place, torch.Tensor]
    gradients: dict[Place, torch.Tensor]


def losses(plain: Side, wider: Side) -> Lost:
    """Measure what each module loses of what it is given.

    The error of each, of the same inputs, is taken in the precision in use and in
    float32. Both are rounding's if they are as far apart as the spacings of the two
    are: what makes errors larger, a difference of near values or a steep function,
    makes both larger.

    Parameters
    ----------
    plain, wider
        The same execution as it is, and in float32.
    """
    grid = Grid.of(plain.batch)
    alike = Meeting(grid, grid)
    with Spool() as spool, undisturbed(plain, wider) as start:

        def run(side: Side, listener: Beside | Recording, *, wide: bool) -> None:
            start.restore_modules()
            start_again(side, start)
            side.run(listener, wide=wide, backward=False)

        tape, exact = Tape(spool), Tape(spool)
        run(plain, Recording(tape), wide=False)
        used = Beside(tape, alike, put=tape, keep=exact)
        run(plain, used, wide=True)
        stored = Beside(tape, alike, put=tape)
        run(plain, stored, wide=False)
        single = Beside(exact, alike, put=tape)
        run(wider, single, wide=False)
    return Lost(dict(_ratios(used.values, stored.values, single.values)), {})


def _ratios(
    used: Distances, stored: Distances, single: Distances
) -> Iterator[tuple[Place, torch.Tensor]]:
    units = [unit for place, unit in stored.units.items() if place not in stored.whole]
    unit = max(units, default=0.0)
    least = min((each for each in single.units.values() if each), default=unit)
    spread = unit / least if least else 1.0
    for place, apart in used.apart.items():
        other = single.apart.get(place)
        if other is None or other.shape != apart.shape or place in used.whole:
            continue
        floor = floor_of(other * spread, single.sizes[place], unit)
        ratio = torch.where(apart == 0, 0.0, apart / floor)
        yield place, ratio.nan_to_num(0.0, torch.inf)
