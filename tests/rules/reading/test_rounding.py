"""Which weights rounding keeps where they are."""

import numpy as np
import pytest

from ftlab.rules.reading.rounding import rounded_away
from tests.runs import RunBuilder

OWN = {"module": "lab.optimizers", "groups": [{}]}


def marked(still=(), *, stuck=0.97, optimizer=OWN):
    """Judge one tensor; ``still`` gives a share by the steps it looks back on."""
    builder = RunBuilder()
    row = builder.tensor("w", dtype="bfloat16")
    builder.facts(optimizers=(optimizer,))
    builder.step({"stuck_share": stuck})
    for steps, share in still:
        columns = {"still_share": share, "still_steps": steps}
        builder.step({"stuck_share": stuck} | columns)
    ids = np.array([row], np.int32)
    return bool(rounded_away(builder.run, ids, builder.tensors)[0])


@pytest.mark.parametrize(
    "module", ["torch.optim.adamw", "transformers.optimization", "bitsandbytes.optim.a"]
)
def test_an_optimizer_that_adds_up_plainly_needs_no_proof(module):
    assert marked(optimizer={"module": module, "groups": [{}]})


def test_another_optimizer_is_not_judged_before_it_was_seen():
    assert not marked()


def test_the_same_weights_stay_for_ever():
    assert marked([(32, 0.96)])


def test_others_move_each_time():
    assert not marked([(32, 0.97**32)])


def test_a_short_look_back_proves_nothing():
    assert not marked([(16, 1.0)])


def test_a_far_look_back_proves_nothing_for_weights_come_back():
    assert not marked([(160, 0.97 ** (160 * 0.05))])
    assert marked([(128, 0.97 ** (128 * 0.05))])


def test_rounded_by_chance_is_told_from_rounded_away():
    assert not marked([(128, 0.97 ** (128 * 0.129))])  # as measured


def test_weights_that_come_back_are_seen_at_the_shortest_look_back():
    assert not marked([(32, 0.5), (96, 0.99)])


def test_a_tensor_of_which_nothing_ever_moved_is_marked():
    assert marked([(32, 1.0)], stuck=1.0)


def test_groups_are_counted_over_all_optimizers():
    builder = RunBuilder()
    for group in (0, 1):
        builder.tensor(f"w{group}", meta={"group": group})
    plain = {"module": "torch.optim.sgd", "groups": [{}]}
    builder.facts(optimizers=(plain, OWN))
    ids = np.array([0, 1], np.int32)
    assert rounded_away(builder.run, ids, builder.tensors).tolist() == [True, False]
