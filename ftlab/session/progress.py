"""A bar that says how far a long work is, where somebody can see it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ftlab.session.host import QuietHost, host


@contextmanager
def progress_bar(
    title: str, total: int | None, *, unit: str = "rows", shown: bool | None = None
) -> Iterator[Callable[[int], object]]:
    """Give a function that is told how many were done since the last time.

    The bar appears with the first of them, and goes when the block ends.

    Parameters
    ----------
    total, unit
        How many of what; ``None`` where nobody knows.
    shown
        Whether there is a bar; by default in a notebook and in a terminal.

    Examples
    --------
    >>> from ftlab.session.progress import progress_bar
    >>> with progress_bar("reading", 10, shown=False) as tick:
    ...     _ = tick(3)
    """
    seen = sys.stderr.isatty() or not isinstance(host(), QuietHost)
    if not (seen if shown is None else shown):
        yield int
        return
    from tqdm.auto import tqdm

    bars: list[Any] = []

    def tick(rows: int) -> None:
        if not bars:
            bars.append(tqdm(total=total, desc=title, unit=f" {unit}", leave=False))
        bars[0].update(rows)

    try:
        yield tick
    finally:
        for bar in bars:
            bar.close()
