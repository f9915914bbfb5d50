"""The variables of waiting code: copies, one line each, nothing kept behind."""

import gc
import sys
import weakref

import pytest
import torch

from ftlab.records.errors import NotPausedError, UnknownNameError
from ftlab.replay.stops.variables import Variables, one_line, variables_of


def test_tensors_are_copies_within_containers_too():
    live = {"x": torch.zeros(2), "batch": {"ids": torch.zeros(2)}}
    shown = Variables(lambda: live)
    shown["x"].fill_(1)
    shown["batch"]["ids"].fill_(1)
    assert live["x"].sum() == live["batch"]["ids"].sum() == 0


def test_other_objects_are_the_live_ones():
    model = torch.nn.Linear(1, 1)
    assert Variables(lambda: {"model": model})["model"] is model


def test_it_is_a_mapping_that_cannot_be_written():
    shown = Variables(lambda: {"a": 1, "b": 2})
    assert dict(shown) == {"a": 1, "b": 2}
    assert ("a" in shown, "c" in shown, len(shown)) == (True, False, 2)
    assert shown.get("c", 7) == 7
    with pytest.raises(TypeError):
        shown["a"] = 3


def test_a_name_that_is_not_there_is_answered_with_near_ones():
    with pytest.raises(UnknownNameError, match="near ones are 'weights'"):
        Variables(lambda: {"weights": 1})["weight"]


def test_when_it_is_released_nothing_is_left_of_it():
    shown = Variables(lambda: {"a": 1})
    shown.release()
    assert repr(shown) == "(the run has continued)"
    with pytest.raises(NotPausedError, match="the run has left"):
        len(shown)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.tensor([1.0, float("inf")]), "float32[2], 1 to 1, 1 Inf"),
        (3, "3"),
        ("a\nb", r"'a\nb'"),
        (None, "None"),
        (torch.float16, "torch.float16"),
        (torch.nn.Linear(1, 1), "Linear(...)"),
        ([], "list of 0"),
        ({"a": {"b": 1}}, "dict of 1: a dict of 1"),
        ([1, 2, 3, 4], "list of 4: 1; 2; 3; ..."),
    ],
)
def test_each_value_has_one_line(value, text):
    assert one_line(value) == text


def test_a_line_has_an_end():
    assert len(one_line(["x" * 90] * 3)) == 100


def test_an_object_is_never_asked_for_its_own_text():
    class Costly:
        def __repr__(self):
            raise RuntimeError

    assert one_line([Costly()]) == "list of 1: Costly(...)"


def test_a_functions_variables_are_those_of_the_moment():
    def step(batch):
        doubled = batch * 2
        shown = variables_of(sys._getframe())
        return doubled, shown["doubled"], dict(shown)["batch"]

    _, doubled, batch = step(torch.ones(1))
    assert (doubled.item(), batch.item()) == (2.0, 1.0)


def test_a_frame_keeps_nothing_that_its_function_drops():
    alive = []

    def step():
        loss = torch.ones(1)
        alive.append(weakref.ref(loss))
        shown = variables_of(sys._getframe())
        repr(shown)
        shown.release()
        del loss
        gc.collect()
        return alive[0]() is None

    assert step()


def test_a_function_that_asks_for_its_own_variables_keeps_them():
    def step():
        number = 3
        mine = locals()
        repr(variables_of(sys._getframe()))
        return mine, number

    mine, _ = step()
    assert mine["number"] == 3


def test_of_code_at_the_top_only_what_it_uses_is_shown():
    namespace = {"variables_of": variables_of, "sys": sys, "other": 1, "__name__": "x"}
    source = "total = 2\nrate = total / 4\nshown = dict(variables_of(sys._getframe()))"
    exec(compile(source, "<top>", "exec"), namespace)
    assert namespace["shown"] == {"total": 2, "rate": 0.5}
    assert namespace["other"] == 1
