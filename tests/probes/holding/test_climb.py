"""What no name reaches is named by what holds it."""

import gc
from collections.abc import Iterator

import torch
from torch.utils.data import DataLoader, IterableDataset

from ftlab.probes.holding.climb import climbed
from ftlab.records.holding import path_text


class Stream(IterableDataset[int]):
    """Keeps all of its rows in a variable of its generator."""

    def __iter__(self) -> Iterator[int]:
        seen = []
        for index in range(3):
            seen.append(torch.zeros(1357))
            yield index


def test_a_variable_of_a_generator_that_a_loop_advances_is_named() -> None:
    for _ in DataLoader(Stream(), batch_size=None):
        rows = (e for e in gc.get_objects() if type(e) is torch.Tensor)
        row = next(each for each in rows if each.numel() == 1357)
        del rows  # it holds what it goes through
        path, _ = climbed(row)
        assert path_text(path) == "Stream.__iter__().seen[...]"
