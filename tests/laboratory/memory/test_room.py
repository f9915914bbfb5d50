"""What a container may take is less than what its machine has."""

import resource
from pathlib import Path

import psutil
import pytest
import torch

from ftlab.laboratory.memory import room

GIB = 2**30


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(room, "CGROUPS", tmp_path)
    return tmp_path


def second(folder: Path, limit: object) -> None:
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{GIB}\n")
    (folder / "memory.stat").write_text(f"anon 7\ninactive_file {GIB // 2}\n")


def first(folder: Path, limit: int) -> None:
    (folder / "memory").mkdir()
    (folder / "memory/memory.limit_in_bytes").write_text(str(limit))
    (folder / "memory/memory.usage_in_bytes").write_text(str(GIB))
    parts = f"inactive_file 0\ntotal_inactive_file {GIB // 2}\n"
    (folder / "memory/memory.stat").write_text(parts)


@pytest.mark.parametrize("write", [first, second])
def test_a_containers_limit_counts_without_cached_files(groups, write) -> None:
    write(groups, 2 * GIB)
    assert room.container_memory() == (2 * GIB, GIB // 2)
    model = torch.nn.Linear(2, 2)
    available = psutil.virtual_memory().available
    assert room.room_beside(model) == pytest.approx(min(1.5 * GIB, available), rel=0.1)


@pytest.mark.parametrize("limit", ["max", 2**62])
def test_no_limit_is_none(groups: Path, limit: object) -> None:
    assert room.container_memory() is None
    second(groups, limit)
    assert room.container_memory() is None


def test_a_limit_of_the_process_counts(groups: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = psutil.Process().memory_info().vms + GIB
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        free = room.room_beside(torch.nn.Linear(2, 2))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert 0.9 * GIB < free <= GIB
