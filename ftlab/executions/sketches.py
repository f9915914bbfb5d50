"""A few numbers for each token's values, enough to tell how far two values are apart.

Sums with random signs: the mean square of what two sketches are apart is, on average,
the squared distance of what they were made of (Johnson and Lindenstrauss 1984; signs:
Achlioptas 2003). Sixteen sums tell it within a third.
"""

import functools
import hashlib

import numpy as np
import torch

from ftlab.executions.distance import apart, size, unit
from ftlab.executions.passes import Distances, Measured
from ftlab.executions.side import Side
from ftlab.executions.spool import Spool
from ftlab.executions.tape import Recording, Tape
from ftlab.executions.tokens import Grid, Meeting

SUMS = 16
_PIECE = 1 << 16


def sketched(side: Side, spool: Spool, *, wide: bool = False) -> Tape:
    """Execute a side and keep a sketch of each tensor."""
    grid = Grid.of(side.batch)
    tape = Tape(spool)
    alike = Meeting(grid, grid)

    def kept(tensor: torch.Tensor) -> torch.Tensor:
        cells = alike.cells(tensor, tensor)
        return sketch(tensor.reshape(1, -1) if cells is None else cells[0])

    side.run(Recording(tape, kept), wide=wide)
    return tape


def sketch(cells: torch.Tensor) -> torch.Tensor:
    """Return norm, what storing rounds of it, and sums with random signs, by cell.

    The signs are the same on every machine and with every version.

    Parameters
    ----------
    cells
        Shape (cells, values).

    Returns
    -------
    torch.Tensor
        float64, shape (cells, 2 + `SUMS`).

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.sketches import sketch
    >>> one, other = sketch(torch.ones(3, 4096)), sketch(torch.zeros(3, 4096))
    >>> one[0, 0], one.shape
    (tensor(64., dtype=torch.float64), torch.Size([3, 18]))
    >>> bool((one - other)[0, 2:].square().mean().sqrt() / 64 > 0.6)
    True
    """
    plain = cells.detach().cpu().nan_to_num(0.0, 6e4, -6e4)
    sums = torch.zeros(len(plain), SUMS, dtype=torch.float64)
    for at in range(0, plain.shape[1], _PIECE):
        piece = plain[:, at : at + _PIECE].double()
        sums += piece @ _signs(at, piece.shape[1])
    norms = size(plain)[:, None]
    return torch.cat((norms, norms * unit(cells.dtype), sums), 1)


@functools.lru_cache(maxsize=16)
def _signs(at: int, width: int) -> torch.Tensor:
    bits = hashlib.shake_128(f"{at} {width}".encode()).digest(width * SUMS // 8)
    signs = np.unpackbits(np.frombuffer(bits, np.uint8)).reshape(width, SUMS)
    return torch.from_numpy(signs * 2.0 - 1.0)


def between(one: Tape, other: Tape) -> Measured:
    """Return how far two sketched executions are apart, in the order of the latter."""
    found = Measured(Distances(), Distances())
    for distances, mine, theirs in (
        (found.values, one.values, other.values),
        (found.gradients, one.gradients, other.gradients),
    ):
        for place, kept in theirs.items():
            if place not in mine or mine[place].shape != kept.shape:
                continue
            a, b = one.spool.get(mine[place]), other.spool.get(kept)
            distances.apart[place] = apart(a[:, 2:], b[:, 2:]) / SUMS**0.5
            distances.sizes[place] = a[:, 0]
            stores = float(a[:, 1].sum() / a[:, 0].sum().clamp(min=1e-30))
            distances.units[place] = stores
    return found
