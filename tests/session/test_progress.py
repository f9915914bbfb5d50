"""Bars are shown where somebody can see them."""

import pytest

from ftlab.session.host import use
from ftlab.session.progress import progress_bar


class Notebook:
    """A front end that shows things."""


def shown_by(capsys, **settings):
    with progress_bar("reading", 10, **settings) as tick:
        before = capsys.readouterr().err
        tick(3)
        tick(7)
    return before, capsys.readouterr().err


def test_a_bar_appears_with_the_first_row(capsys):
    before, after = shown_by(capsys, shown=True)
    assert before == ""
    assert "reading" in after
    assert "/10" in after


def test_nobody_sees_it_in_a_log(capsys):
    assert shown_by(capsys) == ("", "")
    assert shown_by(capsys, shown=False) == ("", "")


def test_a_terminal_sees_it(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "reading" in shown_by(capsys)[1]


def test_a_notebook_sees_it(capsys):
    handle = use(Notebook())
    try:
        assert "reading" in "".join(shown_by(capsys))
    finally:
        handle.remove()


def failing():
    with progress_bar("a", 5, shown=True) as tick:
        tick(1)
        msg = "no rows"
        raise ValueError(msg)


def test_it_goes_where_the_work_fails(capsys):
    with pytest.raises(ValueError, match="no rows"):
        failing()
    assert capsys.readouterr().err.endswith("\r")
