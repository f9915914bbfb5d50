"""Memory that grows in a process of a data loader, looked for inside that process."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from ftlab.probes.holding.heap import heap_in_use, is_exact, shared_in_use
from ftlab.probes.holding.search import Search
from ftlab.probes.torch_private import after_fetches
from ftlab.records.holding import Growth

SETTLED = 2
"""Batches after which a worker has made all that stays: it has no optimizer."""


def look_in_worker(tell: Callable[[int, list[Growth]], object]) -> None:
    """Look after each batch that this process makes whether what it keeps grows.

    Objects are walked over only where the count of what is allocated grows with each
    batch: a walk touches the pages that are shared with the main process. What no name
    reaches is not looked for: those are batches on their way.

    Parameters
    ----------
    tell
        Called with the number of batches so far and what grows.
    """
    if not is_exact():  # resident memory grows in healthy workers, by copies on write
        return
    search, made = Search(share=0.0, settled=SETTLED, deeper=False), 0

    def after(batch: Any) -> None:
        nonlocal made
        made += 1
        leaves = tree_leaves(batch)
        sizes = (each.numel() for each in leaves if isinstance(each, torch.Tensor))
        used, elements = heap_in_use() + shared_in_use(), max(sizes, default=0)
        if growth := search.read(made, used, elements):
            tell(made, growth)

    after_fetches(after)
