import linecache
import sys
import threading

import pytest

from ftlab.replay.stops import excerpt
from ftlab.replay.stops.excerpt import (
    Excerpt,
    Frame,
    Listing,
    excerpt_of,
    excerpts,
    stack_above,
    waiting_frame,
)
from ftlab.replay.tracing.site import Line, Site, shown

CELL = "/tmp/ipykernel_7/123.py"
TEXT = "a = 1\n\nif a:\n    b = 0\n    c = a / b\n    d = '<i>'\n\n\ne = 2\n"


@pytest.fixture
def cell():
    linecache.cache[CELL] = (len(TEXT), None, TEXT.splitlines(keepends=True), CELL)
    yield CELL
    del linecache.cache[CELL]


def test_marks_a_line_of_a_cell_between_its_neighbours(cell):
    found = excerpt_of("your line", shown(cell, 5, "<module>"))
    assert repr(found) == (
        "your line: <cell>:5 <module>\n"
        "    3  if a:\n"
        "    4      b = 0\n"
        "  > 5      c = a / b\n"
        "    6      d = '<i>'"
    )


def test_takes_off_the_indentation_that_all_lines_have(cell):
    linecache.cache[cell] = (9, None, ["    x = 1\n", "    y = 2\n"], cell)
    assert excerpt_of("library", Line("x", cell, 1)).lines == ("x = 1", "y = 2")


def test_empty_lines_at_the_start_are_left_out_but_not_the_marked_one(cell):
    linecache.cache[cell] = (9, None, ["\n", "\n", "x = 1\n"], cell)
    assert excerpt_of("library", Line("x", cell, 3)).first == 3
    assert excerpt_of("library", Line("x", cell, 1)).lines == ("", "", "x = 1")


def test_the_marked_line_is_shown_even_where_it_is_empty(cell):
    found = excerpt_of("your line", Line("x", cell, 2))
    assert (found.first, found.marked, found.lines[1]) == (1, 2, "")


@pytest.mark.parametrize(
    "line",
    ["gone.py:3 f", Line("gone.py:3 f", "/nowhere/gone.py", 3), Line()],
    ids=["text", "no such file", "empty"],
)
def test_a_line_that_cannot_be_read_gives_no_excerpt(line):
    assert excerpt_of("your line", line) is None


def test_a_line_behind_the_end_gives_no_excerpt(cell):
    assert excerpt_of("your line", Line("x", cell, 99)) is None


def test_in_backward_the_forward_line_stands_first_and_none_twice(cell):
    forward = shown(cell, 5, "forward")
    made = Site(2, "op", "forward", "m", "M", forward, forward)
    line = shown(cell, 9, "step")
    found = excerpts(Site(7, "op", "backward", "m", "M", line, line, forward=made))
    assert [(one.role, one.marked) for one in found] == [
        ("forward", 5),
        ("your line", 9),
    ]


def test_without_a_site_there_is_nothing_to_show():
    assert excerpts(None) == ()
    assert repr(excerpts(None)) == "(nothing to show)"


def test_a_stack_holds_the_users_calls_outermost_first_and_no_internals():
    def inner():
        return stack_above(sys._getframe())

    import torch

    class Module(torch.nn.Module):
        def forward(self):
            return inner()

    calls = Module()()
    assert [call.place.split()[-1] for call in calls[-2:]] == ["forward", "inner"]
    assert calls[-2].code == "return inner()"
    assert calls[-1].yours
    assert not any("torch" in call.place for call in calls)


def test_calls_in_installed_packages_are_not_marked_as_yours():
    calls = stack_above(sys._getframe())
    assert {call.yours for call in calls if "pytest" in call.place} == {False}
    assert repr(Frame("lib.py:3 f", "f()", yours=False)) == "  lib.py:3 f\n      f()"


def test_in_autograds_own_threads_the_calls_are_those_of_backward(monkeypatch):
    import torch

    found = []

    def look():
        found.extend(call.code for call in stack_above(waiting_frame()))

    def elsewhere(grad):
        # An accelerator's threads have a task of autograd and no calls of the user.
        thread = threading.Thread(target=look)
        with monkeypatch.context() as patched:
            patched.setattr(excerpt, "graph_task", lambda: 0)
            thread.start()
            thread.join()
        return grad

    x = torch.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(elsewhere)
    y.backward()
    assert "y.backward()" in found


def test_a_listing_prints_one_entry_below_the_other():
    one = Excerpt("library", "a.py:1 f", 1, 1, ("x",))
    assert repr(Listing([one, one])) == f"{one!r}\n{one!r}"
