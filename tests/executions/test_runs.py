"""The executions that a comparison makes."""

import contextlib
import dataclasses

import torch

from ftlab.executions.between import pair_between
from ftlab.executions.listening import Place
from ftlab.executions.pairs import Pair, side
from ftlab.executions.runs import Runs
from ftlab.executions.side import undisturbed
from ftlab.executions.spool import Spool
from tests.executions.sides import Small, llama, padded, small_batch
from tests.models import tiny_lora


@contextlib.contextmanager
def runs_of(pair):
    with Spool() as spool, undisturbed(pair.a, pair.b) as rng:
        yield Runs(pair, spool, rng)


def small(change=1.0, backward=True):
    a, b = Small(), Small()
    b.layers[0].weight.data *= change
    sides = (side(each, small_batch()) for each in (a, b))
    return Pair(*sides, ("a", "b"), backward=backward)


FIRST, LAST = Place("layers.0", 0, "out", ""), Place("layers.3", 0, "out", "")


def test_what_is_born_is_told_from_what_is_carried():
    with runs_of(small(1.5)) as runs:
        assert runs.local.values[FIRST].max() > 1e5
        assert runs.free.values[LAST].max() > 100
        others = [p for p in runs.local.values if p != FIRST]
        assert max(runs.local.values[p].max() for p in others) <= 3
        as_they_are = runs.as_they_are()
        assert as_they_are.values[FIRST].max() > 1e5
        assert as_they_are.values[LAST].max() <= 3


def test_putting_the_cause_right_leaves_nothing():
    with runs_of(small(1.5)) as runs:
        assert runs.left([FIRST]) < 1e-12
        assert runs.left([]) > 1e-6
        assert runs.left([Place("layers", 0, "in", "0")]) == runs.left([])


def test_without_backward_there_are_no_gradients():
    with runs_of(small(backward=False)) as runs:
        assert not runs.tape.gradients
        assert not runs.local.gradients
    with runs_of(small()) as runs:
        assert LAST in runs.local.gradients
        assert Place("layers.0", 0, "weight", "weight") in runs.local.gradients


def test_each_execution_begins_with_the_same_buffers_and_numbers():
    class Draws(Small):
        def forward(self, x, labels=None):
            return super().forward(x + torch.rand(5, 4), labels)

    a, b = Draws(), Draws()
    pair = Pair(side(a, small_batch()), side(b, small_batch()), ("a", "b"))
    with runs_of(pair) as runs:
        assert not any(each.any() for each in runs.freely.values.apart.values())


def test_weights_that_were_rounded_once_more_have_a_floor_of_their_own():
    model = tiny_lora(llama(torch.bfloat16), init_lora_weights=False)
    pair = pair_between(model, padded(), "merge")
    place = Place("model.layers.0.self_attn.q_proj", 0, "out", "")
    with runs_of(pair) as runs:
        assert 0 < runs.local.values[place].max() <= 3
        allowed = runs.local.values[place].max()
    with runs_of(dataclasses.replace(pair, rewritten=False)) as runs:
        assert runs.local.values[place].max() > allowed
