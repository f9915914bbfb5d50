"""Ctrl-C between rows, and while a row is waited for."""

import signal

import pytest

from ftlab.probes.data.files.stopping import Stop
from ftlab.replay.interrupts import on_interrupt


def interrupt(times):
    for _ in range(times):
        signal.raise_signal(signal.SIGINT)


def numbers(at, times):
    for number in range(10):
        if number == at:
            interrupt(times)
        yield number


def test_the_first_one_ends_the_reading_behind_the_row():
    stop = Stop()
    with on_interrupt(stop.heard):
        assert list(stop.rows(numbers(3, 1))) == [0, 1, 2, 3]
    assert stop.asked


def test_the_second_one_interrupts_a_row_that_does_not_come():
    stop = Stop()
    with on_interrupt(stop.heard):
        assert list(stop.rows(numbers(3, 2))) == [0, 1, 2]
    assert stop.asked


def test_outside_of_the_waiting_nothing_is_interrupted():
    stop = Stop()
    with on_interrupt(stop.heard):
        for _ in stop.rows(numbers(99, 0)):
            interrupt(3)
    assert stop.asked


def test_a_tick_interrupts_once_it_was_asked_to():
    told, stop = [], Stop()
    tick = stop.checked(told.append)
    tick(5)
    stop.heard()
    with pytest.raises(KeyboardInterrupt):
        tick(6)
    assert told == [5]
