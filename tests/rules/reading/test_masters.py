"""Float32 copies that an optimizer steps for half-precision parameters."""

import pytest

from ftlab.rules.reading.masters import mastered, moving, stands_still, without_copies
from tests.runs import RunBuilder

COPY = {"shape": [4, 4], "dtype": "float32"}


def run_of(foreign, *, dtype="bfloat16", norms=(), lr=1e-3):
    builder = RunBuilder()
    for name in ("w", "v"):
        builder.tensor(name, shape=(4, 4), dtype=dtype, meta={"group": -1})
    builder.facts(optimizers=({"foreign": foreign, "missing": ["w", "v"]},))
    for norm in norms:
        builder.step({"weight_l2": norm}, lr=(lr,))
    return builder.run


def test_each_copy_stands_for_one_parameter():
    run = run_of([COPY])
    assert mastered(run) == {"w"}
    assert without_copies(run, [COPY, COPY]) == [COPY]


def test_copies_belong_to_half_precision_only():
    assert mastered(run_of([COPY], dtype="float32")) == frozenset()


@pytest.mark.parametrize("entry", [COPY | {"shape": [4, 5]}, COPY | {"dtype": "half"}])
def test_other_shapes_and_dtypes_are_strangers(entry):
    run = run_of([entry])
    assert mastered(run) == frozenset()
    assert without_copies(run, [entry]) == [entry]


def test_nothing_is_mastered_without_an_optimizer():
    assert mastered(RunBuilder().run) == frozenset()


def test_copies_of_weights_that_stand_still_are_another_models():
    run = run_of([COPY, COPY], norms=[(1.0, 2.0), (1.0, 2.0)])
    assert mastered(run) == frozenset()
    assert without_copies(run, [COPY]) == [COPY]


def test_one_that_moves_is_enough():
    run = run_of([COPY, COPY], norms=[(1.0, 2.0), (1.0, 2.1)])
    assert mastered(run) == {"w", "v"}


def test_weights_may_stand_still_while_the_learning_rate_is_0():
    run = run_of([COPY, COPY], norms=[(1.0, 2.0), (1.0, 2.0)], lr=0.0)
    assert mastered(run) == {"w", "v"}


def test_one_measurement_says_nothing_about_moving():
    run = run_of([COPY, COPY], norms=[(1.0, 2.0)])
    assert not stands_still(run, ["w"])
    assert moving(run) == frozenset()


def test_a_measured_update_is_a_move():
    builder = RunBuilder()
    builder.tensor("w")
    builder.tensor("v")
    builder.step({"update_l2": (0.0, 0.1)})
    assert moving(builder.run) == {"v"}


def test_what_is_followed_from_a_later_step_on_has_not_moved_for_that():
    builder = RunBuilder()
    builder.tensor("w")
    builder.step({"weight_l2": (1.0,)})
    builder.tensor("v")
    builder.step({"weight_l2": (1.0, 2.0)}).step({"weight_l2": (1.5, 2.0)})
    assert moving(builder.run) == {"w"}
