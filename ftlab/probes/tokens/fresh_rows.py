"""Rows of an embedding or a head that no training has touched yet.

They are told from their values. transformers puts new rows at the mean of the old ones,
or draws them; other code draws them as `nn.Embedding` or `nn.Linear` does. Nobody keeps
a record, but among trained rows such ones stand out: all of them are the same,
or of one deviation.
"""

import math
from collections.abc import Iterator, Sequence

import torch

NEAR = 0.01
"""Distance from the mean row, over the usual distance, up to which a row is the mean.

Rows that transformers puts there are off by 3e-5 (measured: a covariance times 1e-9),
after rounding to bf16 by up to 4e-3; rows of a trained or drawn embedding by 0.5 and
more.
"""

DEVIATIONS = 4.0
"""Standard errors up to which a deviation counts as that drawn from."""

ROUNDING = 0.01
"""Relative error of a deviation that a 16-bit dtype may add."""

OTHERS = 0.1
"""Share of older rows that may look drawn; above it the new ones do not stand out."""

ROWS = 1 << 14
"""Rows that are read at a time."""


@torch.no_grad()
def fresh_rows(weight: torch.Tensor, drawn: Sequence[float]) -> dict[str, list[int]]:
    """Find rows without training.

    Parameters
    ----------
    drawn
        Deviations that rows may have been drawn with.

    Returns
    -------
    dict
        Indices by what the rows look like: ``"mean"`` (of all rows), ``"zero"`` or
        ``"drawn"``. Empty where most rows look so: then nothing was trained.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.tokens.fresh_rows import fresh_rows
    >>> old = torch.randn(50, 64, generator=torch.Generator().manual_seed(0))
    >>> fresh_rows(torch.cat([old, old.mean(0, keepdim=True)]), [0.02])
    {'mean': [50]}
    """
    rows, width = weight.shape
    mean = sum(part.sum(0) for part in _parts(weight)) / rows
    far = torch.cat([(part - mean).norm(dim=1) for part in _parts(weight)])
    size = torch.cat([part.norm(dim=1) for part in _parts(weight)])
    middle = torch.cat([part.mean(1) for part in _parts(weight)])
    same = (far <= NEAR * far.median()) & (size > 0)
    found = {
        "mean": same.nonzero().flatten().tolist(),
        "zero": (size == 0).nonzero().flatten().tolist(),
        "drawn": _drawn(size / math.sqrt(width), middle, width, drawn),
    }
    most = rows // 2
    return {how: each for how, each in found.items() if each and len(each) <= most}


def _parts(weight: torch.Tensor) -> Iterator[torch.Tensor]:
    for start in range(0, len(weight), ROWS):
        yield weight[start : start + ROWS].detach().float()


def _drawn(
    sizes: torch.Tensor, means: torch.Tensor, width: int, drawn: Sequence[float]
) -> list[int]:
    """Return the last rows, where they look drawn and the rows before them do not."""
    for std in drawn:
        spread = DEVIATIONS / math.sqrt(2 * width) + ROUNDING
        fits = (sizes / std - 1).abs() <= spread
        fits &= means.abs() <= DEVIATIONS * std / math.sqrt(width)
        others = (~fits).nonzero().flatten()
        first = int(others[-1]) + 1 if len(others) else 0
        count = len(sizes) - first
        if not count or not first or float(fits[:first].float().mean()) > OTHERS:
            continue
        together = float(sizes[first:].square().mean().sqrt())
        wide = DEVIATIONS / math.sqrt(2 * width * count) + ROUNDING
        if abs(together / std - 1) <= wide:
            return list(range(first, len(sizes)))
    return []
