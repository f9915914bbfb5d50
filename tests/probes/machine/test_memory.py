import mmap

import psutil
import pytest
import torch

from ftlab.probes.machine.memory import Memory
from tests.probes.moments_of import Bench


def test_reads_resident_memory():
    bench = Bench(torch.nn.Linear(1, 1))
    values = Memory().on_close(bench.moment())
    own = psutil.Process().memory_info().rss
    assert values["rss"] == pytest.approx(own, rel=0.2)
    if not torch.cuda.is_available():
        assert set(values) == {"rss"}


def test_sees_memory_grow():
    bench, probe = Bench(torch.nn.Linear(1, 1)), Memory()
    before = probe.on_close(bench.moment())["rss"]
    size = 32 << 20
    with mmap.mmap(-1, size) as held:  # new pages: an allocator may have old ones
        held.write(b"1" * size)
        after = probe.on_close(bench.moment())["rss"]
    assert after - before > size / 2


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_reads_the_allocator_without_waiting():
    bench = Bench(torch.nn.Linear(1, 1))
    torch.zeros(1 << 20, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        values = Memory().on_close(bench.moment())
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert values["cuda_peak"] >= values["cuda_allocated"]
    assert values["cuda_reserved"] >= values["cuda_allocated"]
    assert values["cuda_allocated"] == torch.cuda.memory_allocated()
