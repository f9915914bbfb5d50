import numpy as np

from ftlab.views.layers.gradient_marks import marks

LAYERS = ["embed", "layers.0", "layers.1", "layers.2"]


def test_a_healthy_run_carries_no_mark():
    assert marks(LAYERS, np.full((16, 4), 2e-5, np.float32)) == ()


def test_five_weak_columns_are_marked_and_four_are_not():
    norms = np.ones((10, 4), np.float32)
    norms[-4:, 0] = 1e-6
    assert marks(LAYERS, norms) == ()
    norms[-5:, 0] = 1e-6
    (mark,) = marks(LAYERS, norms)
    assert (mark.layer, mark.kind) == ("embed", "weak")


def test_a_run_of_fewer_than_five_columns_is_not_called_weak():
    assert marks(LAYERS, np.full((4, 4), 1e-6, np.float32)) == ()


def test_decay_is_measured_against_the_next_deeper_block_only():
    norms = np.tile(np.float32([0.1, 0.6, 1.0, 1.2]), (4, 1))
    (mark,) = marks(LAYERS, norms)
    assert mark.text == "is 0.6 of layers.1 (mark: below 0.7)"


def test_missing_and_bad_values_are_left_out():
    norms = np.full((8, 4), np.nan, np.float32)
    norms[:, 2] = -1
    assert marks(LAYERS, norms) == ()
    assert marks(LAYERS, np.empty((0, 4), np.float32)) == ()
    assert marks([], np.empty((3, 0), np.float32)) == ()
