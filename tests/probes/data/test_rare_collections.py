"""Garbage is collected less often while rows are read, and then as before."""

import gc

import pytest

import ftlab
from ftlab.probes.data.rare_collections import YOUNG, rare_collections


@pytest.fixture(autouse=True)
def as_before():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_older_generations_are_left_alone():
    gc.set_threshold(700, 11, 12)
    with rare_collections():
        assert gc.get_threshold() == (YOUNG, 11, 12)
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("young", [0, YOUNG + 1])
def test_who_asked_for_fewer_or_none_keeps_that(young):
    gc.set_threshold(young, 10, 10)
    with rare_collections():
        assert gc.get_threshold() == (young, 10, 10)
    assert gc.get_threshold() == (young, 10, 10)


def test_the_last_of_two_scans_sets_it_back():
    gc.set_threshold(700, 10, 10)
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] == YOUNG
    second.__exit__(None, None, None)
    assert gc.get_threshold()[0] == 700


def test_what_somebody_else_sets_meanwhile_stays():
    gc.set_threshold(700, 10, 10)
    with rare_collections():
        gc.set_threshold(900, 10, 10)
    assert gc.get_threshold()[0] == 900


def test_a_scan_of_a_source_that_fails_sets_it_back():
    gc.set_threshold(700, 10, 10)
    seen = []

    def rows():
        yield {"prompt": "Why?", "completion": "So."}
        seen.append(gc.get_threshold()[0])
        raise RuntimeError("the disk is gone")

    class Rows:
        def __iter__(self):
            return rows()

    report = ftlab.data(Rows(), near_duplicates=False)
    assert "the disk is gone" in repr(report)
    assert set(seen) == {YOUNG}
    assert gc.get_threshold()[0] == 700
