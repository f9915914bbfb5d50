"""Tests of `ftlab.probes.hooked`."""

import pytest

from ftlab.probes.hooked import HookedProbe
from ftlab.records.handle import HandleStack


def test_what_it_puts_on_comes_off_with_the_handle_that_it_gives():
    probe, taken = HookedProbe(), HandleStack()
    (handle,) = probe.attach(None)
    probe._hooks.add(taken)
    assert len(probe._hooks) == 1
    handle.remove()
    assert len(probe._hooks) == 0


def test_what_failed_is_raised_once():
    probe = HookedProbe()
    probe._raise_failure()
    probe._fail(ValueError("lost"))
    with pytest.raises(ValueError, match="lost"):
        probe._raise_failure()
    probe._raise_failure()
