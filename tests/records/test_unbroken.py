"""Interrupts wait until something is done as a whole."""

import signal
import threading

import pytest

from ftlab.records.unbroken import take, unbroken

HERE = signal.SIGINT


def raised(*numbers):
    """Raise signals in a block; return what the block has done."""
    done = []

    def work():
        with unbroken():
            with unbroken():
                for number in numbers:
                    signal.raise_signal(number)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    return done


def test_an_interrupt_waits_for_the_end_of_the_outermost_block():
    assert raised(HERE) == ["all of it"]


def test_handlers_are_what_they_were():
    before = signal.getsignal(HERE)
    with unbroken():
        assert signal.getsignal(HERE) is not before
    assert signal.getsignal(HERE) is before


def test_several_signals_are_delivered_once_each():
    heard = []
    before = {each: signal.getsignal(each) for each in (HERE, signal.SIGALRM)}
    try:
        for each in before:
            signal.signal(each, lambda number, _: heard.append(number))
        with unbroken():
            for each in (signal.SIGALRM, HERE, HERE):
                signal.raise_signal(each)
            assert heard == []
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert heard == [signal.SIGALRM, HERE]


def test_the_handler_of_each_is_called_though_one_raises():
    heard = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append("alarm"))
    try:
        raised(HERE, signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert heard == ["alarm"]


def test_an_error_of_the_block_comes_through():
    with pytest.raises(ValueError, match="broken"), unbroken():
        raise ValueError("broken")


def test_other_threads_are_never_interrupted():
    seen = []

    def work():
        with unbroken():
            seen.append(signal.getsignal(HERE))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(HERE)]


def test_what_nobody_will_get_is_let_go_of():
    gone = []

    def make():
        signal.raise_signal(HERE)
        return "taken"

    with pytest.raises(KeyboardInterrupt):
        take(make, gone.append)
    assert gone == ["taken"]


def test_what_was_not_made_is_not_let_go_of():
    gone = []

    def make():
        raise ValueError("not made")

    with pytest.raises(ValueError, match="not made"):
        take(make, gone.append)
    assert gone == []
