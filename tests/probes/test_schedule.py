"""When a probe measures."""

import pytest

from ftlab.probes.schedule import every
from ftlab.records.errors import BadValueError


def due(interval, stop):
    return [step for step in range(stop) if every(interval)(step)]


def test_the_first_steps_are_measured_more_often():
    assert due(16, 65) == [0, 1, 2, 3, 4, 8, 16, 32, 48, 64]
    assert due(100, 201) == [0, 1, 2, 3, 4, 8, 16, 32, 64, 100, 200]


def test_a_short_interval_is_kept():
    assert due(1, 6) == [0, 1, 2, 3, 4, 5]
    assert due(3, 10) == [0, 1, 2, 3, 6, 9]


def test_an_interval_below_one_is_refused():
    with pytest.raises(BadValueError, match=r"every\(0\)"):
        every(0)
