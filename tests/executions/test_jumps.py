"""Choices that rounding turns over."""

from types import SimpleNamespace

import torch

from ftlab.executions.jumps import jump
from ftlab.executions.listening import Place
from ftlab.executions.passes import Distances
from ftlab.executions.tokens import Grid, Meeting

GRID = Grid.of({"input_ids": torch.ones(2, 3)})
ROUTER = Place("router", 0, "out", "1")


def ran(apart, whole=True, place=ROUTER):
    values = Distances()
    values.apart = {Place("a", 0, "out", ""): torch.ones(6), place: torch.tensor(apart)}
    values.whole = {place} if whole else set()
    return SimpleNamespace(values=values)


def test_the_first_token_with_another_expert_is_named():
    meeting = Meeting(GRID, GRID)
    said = "router chooses otherwise, by rounding alone: row 1, position 1"
    assert jump(ran([0.0, 0, 0, 0, 1, 0]), meeting) == said
    assert jump(ran([0.0, 0, 0, 0, 1, 2]), meeting) == f"{said}, and 1 more"
    assert jump(ran([0.0] * 6), meeting) == ""


def test_only_whole_numbers_that_a_module_returns_are_choices():
    meeting = Meeting(GRID, GRID)
    assert jump(ran([1.0] * 6, whole=False), meeting) == ""
    assert jump(ran([1.0] * 6, place=Place("router", 0, "in", "1")), meeting) == ""


def test_a_choice_that_is_not_by_token_is_named_by_its_module():
    said = "router chooses otherwise, by rounding alone"
    assert jump(ran([1.0]), Meeting(GRID, GRID)) == said
    assert jump(ran([1.0] * 6), Meeting(None, None)) == said
