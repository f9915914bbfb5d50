"""Memory that grows in a process of a loader is named as in the training's own."""

import multiprocessing
from collections import deque
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

import ftlab
from ftlab.records.finding import Finding, Severity
from tests.runs import only

WIDTH = 4096


def a_row(index: int) -> torch.Tensor:
    return torch.full((WIDTH,), float(index % 7))


class Rows(Dataset[torch.Tensor]):
    """Rows that keep nothing, but need much for a moment."""

    def __init__(self) -> None:
        self.seen: Any = None

    def __len__(self) -> int:
        return 512

    def __getitem__(self, index: int) -> torch.Tensor:
        image = np.random.default_rng(index).random((100 + index % 50, 1000))
        self.keep(index, a_row(index) * 2)
        return a_row(index) + float(image.mean())

    def keep(self, index: int, row: torch.Tensor) -> None:
        pass


class Appends(Rows):
    def __init__(self) -> None:
        self.seen = []

    def keep(self, index: int, row: torch.Tensor) -> None:
        self.seen.append({"row": row})


class Fills(Rows):
    def __init__(self) -> None:
        self.seen = [None] * len(self)

    def keep(self, index: int, row: torch.Tensor) -> None:
        self.seen[index] = row


class Latest(Rows):
    def __init__(self) -> None:
        self.seen = deque(maxlen=4)

    def keep(self, index: int, row: torch.Tensor) -> None:
        self.seen.append(row)


@cache
def decoded(index: int) -> torch.Tensor:
    return a_row(index) * 2


class Cached(Rows):
    def keep(self, index: int, row: torch.Tensor) -> None:
        decoded(index)


class Stream(IterableDataset[torch.Tensor]):
    def __init__(self) -> None:
        self.read: list[torch.Tensor] = []

    def __iter__(self) -> Any:
        for index in range(512):
            self.read.append(a_row(index) * 2)
            yield a_row(index)


class Collator:
    def __init__(self) -> None:
        self.batches: list[torch.Tensor] = []

    def __call__(self, rows: list[torch.Tensor]) -> torch.Tensor:
        batch = torch.stack(rows)
        self.batches.append(batch)
        return batch


def found(
    folder: Path,
    rows: Any,
    workers: int = 1,
    steps: int = 20,
    epochs: int = 1,
    **settings: Any,
) -> list[Finding]:
    loader = DataLoader(rows, 4, num_workers=workers, **settings)
    model = torch.nn.Linear(WIDTH, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    with ftlab.watch(model, optimizer, run_dir=folder / "run") as watch:
        steps_of_all = (b for _ in range(epochs) for b in islice(loader, steps))
        for batch in steps_of_all:
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
    return [each for each in watch.findings if each.code == "MEM001"]


@pytest.mark.parametrize(
    ("make", "holder", "severity", "line"),
    [
        (Appends, "rows.seen", Severity.WARNING, "self.seen.append({"),
        (Stream, "rows.read", Severity.WARNING, "self.read.append("),
        (Fills, "rows.seen", Severity.INFO, "self.seen[index] = row"),
        (Cached, "decoded<_lru_cache_wrapper>", Severity.WARNING, ""),
    ],
)
def test_what_a_worker_keeps_is_named(
    tmp_path: Path,
    make: Callable[[], Any],
    holder: str,
    severity: Severity,
    line: str,
) -> None:
    finding = only(found(tmp_path, make()), severity.label)
    assert finding.places[0].name.endswith(holder)
    assert "in worker 0 of the loader's 1" in finding.message
    assert line in finding.cause


def test_what_a_collator_keeps_is_named(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, Rows(), collate_fn=Collator())
    assert finding.places[0].name.endswith("batches")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("make", [Rows, Latest])
def test_rows_that_are_freed_again_are_not_told(
    tmp_path: Path, make: Callable[[], Any], workers: int
) -> None:
    assert found(tmp_path, make(), workers, steps=120) == []


def test_several_workers_are_told_once(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, Appends(), workers=2, steps=60)
    assert "of the loader's 2" in finding.message


def test_persistent_workers_are_followed_over_short_epochs(tmp_path: Path) -> None:
    class Few(Appends):
        def __len__(self) -> int:
            return 32

    (finding,) = found(tmp_path, Few(), epochs=4, persistent_workers=True)
    assert finding.places[0].name.endswith(".seen")


def test_a_spawned_worker_tells_too(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    (finding,) = found(tmp_path, Appends(), multiprocessing_context=context)
    assert finding.places[0].name.endswith(".seen")
