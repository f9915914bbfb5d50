"""Handles come off in any order, and leave exactly what was there."""

import gc
import types
import weakref
from itertools import permutations

import pytest

from ftlab.records.handle import CallbackHandle, HandleStack, rebind


class Owner:
    def method(self) -> str:
        return "own"


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_bindings_of_one_attribute_come_off_in_any_order(order: tuple[int, ...]):
    owner = types.SimpleNamespace(name="own")
    handles = [rebind(owner, "name", value) for value in "abc"]
    for index in order:
        handles[index].remove()
    assert owner.name == "own"


def test_an_owner_that_keeps_its_handle_goes_when_nobody_keeps_the_owner():
    owner = Owner()
    owner.handle = rebind(owner, "method", lambda: "ours")
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_a_method_rebound_on_an_instance_leaves_no_attribute():
    owner = Owner()
    handle = rebind(owner, "method", lambda: "ours")
    assert owner.method() == "ours"
    handle.remove()
    handle.remove()
    assert vars(owner) == {}
    assert owner.method() == "own"


def test_what_somebody_else_has_rebound_since_is_left_alone():
    owner = types.SimpleNamespace(name="own")
    handle = rebind(owner, "name", "ours")
    owner.name = "theirs"
    handle.remove()
    assert owner.name == "theirs"


def test_all_handles_of_a_stack_come_off_when_one_fails():
    removed = []

    def fail() -> None:
        raise RuntimeError("stuck")

    stack = HandleStack()
    stack.add(CallbackHandle(lambda: removed.append("first")))
    stack.add(CallbackHandle(fail))
    stack.add(CallbackHandle(lambda: removed.append("last")))
    with pytest.raises(RuntimeError, match="stuck"):
        stack.remove()
    assert removed == ["last", "first"]
    assert len(stack) == 0
