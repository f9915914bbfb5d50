from pathlib import Path

import torch

from ftlab.probes.machine.throughput import RECENT, Throughput
from tests.probes.moments_of import Bench


def test_takes_time_from_end_to_end():
    clock = iter([10.0, 12.5, 13.0, 20.0])
    probe, bench = Throughput(lambda: next(clock), Path("none")), Bench(torch.nn.ReLU())
    probe.on_batch(bench.moment(0), {})
    probe.on_batch(bench.moment(0), {})
    assert probe.on_close(bench.moment(0)) == {"seconds": 2.5}
    assert probe.seconds_of(0) == 2.5
    probe.on_batch(bench.moment(1), {})
    assert probe.on_close(bench.moment(1)) == {"seconds": 0.5}
    assert (probe.seconds_of(0), probe.seconds_of(1)) == (2.5, 0.5)


def test_forgets_what_is_long_past():
    probe, bench = Throughput(clock=lambda: 1.0), Bench(torch.nn.ReLU())
    probe.on_batch(bench.moment(0), {})
    for step in range(RECENT + 1):
        probe.on_close(bench.moment(step))
    assert probe.seconds_of(0) is None
    assert probe.seconds_of(1) == 0


def test_a_step_without_a_beginning_has_no_time():
    probe, bench = Throughput(clock=lambda: 1.0), Bench(torch.nn.ReLU())
    assert probe.on_close(bench.moment(0)) == {}
    assert probe.seconds_of(0) is None
