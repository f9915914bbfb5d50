"""Values of other libraries as Python's own."""

import numpy as np
import torch

from ftlab.probes.data.rows.plain import plain


def test_arrays_tensors_and_numbers_become_pythons_own():
    assert plain(np.array([{"a": 1}], object)) == [{"a": 1}]
    assert plain(torch.arange(2)) == [0, 1]
    assert type(plain(np.int32(3))) is int


def test_everything_else_stays_what_it_is():
    for value in ("a", [1], None, np.ndarray, object()):
        assert plain(value) is value
