"""Functions are stood in for in every module that has them, and given back."""

import sys
import types
from contextlib import contextmanager

import pytest

from ftlab.probes.taps.rebinding import one_pass, rebind_everywhere


def first():
    return ["first"]


def second():
    return ["second"]


def said(word):
    def around(original):
        return [word, *original()]

    return around


@pytest.fixture
def module():
    made = types.ModuleType("of_a_user")
    vars(made).update(f=first, alias=first, g=second)
    sys.modules["of_a_user"] = made
    yield made
    del sys.modules["of_a_user"]


@contextmanager
def each_for_itself():
    yield


@pytest.fixture(params=[one_pass, each_for_itself])
def together(request):
    return request.param


def calls(module):
    return [module.f(), module.alias(), module.g()]


UNCHANGED = [["first"], ["first"], ["second"]]


def test_all_names_are_reached_and_given_back(module, together):
    with together():
        handles = [rebind_everywhere(f, said("a")) for f in (first, second)]
    assert calls(module) == [["a", "first"], ["a", "first"], ["a", "second"]]
    with together():
        for handle in handles:
            handle.remove()
    assert calls(module) == UNCHANGED
    assert (module.f, module.alias, module.g) == (first, first, second)


def test_one_over_another_comes_off_in_either_order(module, together):
    for order in (1, -1):
        with together():
            lower = rebind_everywhere(first, said("a"))
        with together():
            upper = rebind_everywhere(module.f, said("b"))
        assert module.f() == ["b", "a", "first"]
        with together():
            for handle in [lower, upper][::order]:
                handle.remove()
        assert module.f is module.alias is first


def test_the_first_to_stand_in_within_a_pass_stays(module):
    with one_pass():
        handles = [rebind_everywhere(first, said(word)) for word in "ab"]
    assert module.f() == ["a", "first"]
    for handle in handles:
        handle.remove()
    assert module.f is first


def test_what_is_taken_back_in_the_same_pass_leaves_nothing(module):
    with one_pass():
        rebind_everywhere(first, said("a")).remove()
        rebind_everywhere(second, said("a")).remove()
    assert (module.f, module.g) == (first, second)


def test_a_pass_within_another_ends_with_it(module):
    with one_pass():
        with one_pass():
            handle = rebind_everywhere(first, said("a"))
        assert module.f is first
    assert module.f() == ["a", "first"]
    handle.remove()


def test_a_pass_that_fails_has_replaced_what_it_was_told(module):
    handles = []

    def fail():
        with one_pass():
            handles.append(rebind_everywhere(first, said("a")))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert module.f() == ["a", "first"]
    handles[0].remove()
    assert calls(module) == UNCHANGED
