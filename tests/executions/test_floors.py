"""Distances over what rounding moves."""

from types import SimpleNamespace

import torch

from ftlab.executions.floors import Ratios, floor_of
from ftlab.executions.listening import Place
from ftlab.executions.passes import Distances

PLACE = Place("", 0, "out", "")


def beside(apart, size=1.0, unit=0.0, place=PLACE):
    values = Distances()
    values.apart[place] = torch.tensor(apart, dtype=torch.float64)
    values.sizes[place] = torch.full((len(apart),), size, dtype=torch.float64)
    values.units[place] = unit
    return SimpleNamespace(values=values, gradients=Distances())


def ratio(found, floor, stored):
    (ratios,) = Ratios(found, floor, stored).values.values()
    return ratios.tolist()


def test_a_distance_counts_in_floors():
    assert ratio(beside([6.0]), beside([2.0]), beside([0.0])) == [3]


def test_the_coarser_dtype_of_both_makes_the_floor():
    found, exact = beside([3.0]), beside([0.0], unit=0.5)
    assert ratio(found, exact, beside([0.0], unit=1.0)) == [3]
    assert ratio(found, exact, beside([0.0], unit=0.25)) == [6]


def test_equal_is_0_and_a_difference_without_floor_is_infinite():
    nothing = beside([0.0, 0.0])
    assert ratio(beside([0.0, 1e-300]), nothing, nothing) == [0, float("inf")]
    infinite = beside([float("inf")])
    assert ratio(infinite, beside([1.0]), beside([0.0])) == [float("inf")]


def test_a_cell_that_came_out_exact_has_the_floor_of_the_others():
    floor = floor_of(torch.tensor([0.0, 3.0]), torch.tensor([4.0, 4.0]), 0.0)
    assert floor[0] > 2
    assert floor[1] == 3


def test_a_cell_that_is_not_finite_raises_no_others_floor():
    inf = float("inf")
    floor = floor_of(torch.tensor([inf, 1.0]), torch.tensor([9.0, 2.0]), 0.0)
    assert floor.tolist() == [inf, 1]


def test_places_of_other_shapes_are_not_measured():
    assert not Ratios(beside([1.0, 1.0]), beside([1.0]), beside([1.0])).values
    elsewhere = beside([1.0], place=Place("a", 0, "out", ""))
    assert not Ratios(beside([1.0]), elsewhere, elsewhere).values
