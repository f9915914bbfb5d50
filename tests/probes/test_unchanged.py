"""Watching changes nothing, bit for bit: the recorder alone, without log and rules."""

import pytest
import torch

from ftlab.probes.probe import Probe
from ftlab.probes.tensors.gradients import Gradients
from ftlab.probes.tensors.weights import Weights
from tests.probes.recording import Recording
from tests.session.scenarios import LOOPS, feed, seed, state_of


class DrawsOneNumber(Probe):
    """A probe that breaks the promise."""

    name = "draws-one-number"

    def on_gradients(self, moment):
        torch.rand(1)
        return ()


def train(name, *probes):
    seed()
    loop = LOOPS[name]()
    seed()
    if not probes:
        losses = [loop.step(batch).item() for batch in feed()]
    else:
        with Recording(loop.model, loop.optimizer, probes=probes) as recording:
            losses = [loop.step(batch).item() for batch in feed()]
        assert recording.steps, "nothing was watched"
    return state_of(loop.model, loop.optimizer, losses)


@pytest.mark.parametrize("name", LOOPS)
def test_a_recorded_loop_is_bit_equal(name):
    assert train(name, Gradients(), Weights(2)) == train(name)


def test_the_comparison_turns_red_when_a_probe_draws_a_number():
    assert train("dropout", Gradients(), DrawsOneNumber()) != train("dropout")
