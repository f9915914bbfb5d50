"""Several listeners at once."""

import threading

import torch

from ftlab.probes.taps.backward import tap_backward
from ftlab.probes.taps.listener import Shielded
from ftlab.probes.taps.shared import Everyone
from tests.probes.recording import Recording


class Ear:
    def __init__(self, error=None):
        self.error, self.heard, self.failures = error, [], []

    def before_backward(self, losses, weights):
        self.heard.append(len(losses))
        if self.error is not None:
            raise self.error


def test_one_that_fails_is_told_so_and_the_others_hear_it_too():
    ears = [Ear(ValueError("of ours")), Ear()]
    everyone = Everyone()
    everyone.listeners = tuple(Shielded(ear, ear.failures.append) for ear in ears)
    tap = tap_backward(everyone)
    try:
        torch.ones(1, requires_grad=True).sum().backward()
    finally:
        tap.remove()
    assert [ear.heard for ear in ears] == [[1], [1]]
    assert [ear.failures for ear in ears] == [[ears[0].error], []]


def test_loops_of_two_threads_are_kept_apart():
    recordings = []
    turn = threading.Barrier(2, timeout=60)

    def train(seed):
        torch.manual_seed(seed)
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        # Both are within backward at the same time: a hook waits for the other's.
        model.weight.register_hook(lambda _: [turn.wait()].clear())
        losses = []
        with Recording(model, optimizer) as recording:
            recordings.append((recording, losses))
            for _ in range(3):
                optimizer.zero_grad()
                loss = model(torch.full((2, 4), float(seed))).sum()
                loss.backward()
                losses.append(loss.item())
                optimizer.step()

    threads = [threading.Thread(target=train, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recordings) == 2
    for recording, losses in recordings:
        assert recording.losses == losses
        assert len(losses) == 3
        assert recording.ops(1) == ["forward", "backward", "step", "zero_grad"]
