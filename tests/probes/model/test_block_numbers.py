"""Blocks that were chosen by how their number begins are told from other choices."""

import pytest
from torch import nn

from ftlab.probes.model.block_numbers import begins_of, blocks_by_digits


def found(count, learning):
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(count)))
    for number, block in enumerate(model):
        block.requires_grad_(number in learning)
    return blocks_by_digits(nn.ModuleDict({"tower": model}))


@pytest.mark.parametrize(
    ("chosen", "count", "begins"),
    [
        ({1, 10, 11}, 12, [1]),
        ({2, 20, 21, 22, 23}, 24, [2]),
        ({0, 1, 10, 11}, 12, [1]),
        ({1, 2, *range(10, 24)}, 34, []),
    ],
)
def test_all_numbers_that_begin_alike_were_found_by_it(chosen, count, begins):
    assert begins_of(sorted(chosen), range(count)) == begins


@pytest.mark.parametrize(
    "chosen",
    [
        {10, 11},
        {1, 10},
        {0, 1, 2},
        {1, 3, 5, 7, 9, 11},
        {1, 4, 10, 11},
        set(range(1, 12)),
        {*range(1, 9), 10, 11},
        set(range(10)),
    ],
)
def test_other_choices_among_twelve_are_left_alone(chosen):
    assert begins_of(sorted(chosen), range(12)) == []


def test_the_caught_are_named_with_what_differs_in_them():
    (one,) = found(12, set(range(12)) - {1, 10, 11})
    assert (one["chosen"], one["caught"], one["frozen"]) == (
        [1, 10, 11],
        [10, 11],
        True,
    )
    assert one["parameters"]["names"][0] == "tower.10.weight"
    assert one["parameters"]["count"] == 4


def test_the_few_that_are_trained_are_found_as_well():
    (one,) = found(24, {2, 20, 21, 22, 23})
    assert (one["begins"], one["frozen"], one["ends"]) == ([2], False, False)


def test_both_ends_are_told():
    (one,) = found(12, set(range(2, 10)))
    assert one["ends"]


def test_ten_blocks_have_no_longer_numbers():
    assert found(10, {1}) == []


def test_blocks_of_two_kinds_are_left_alone():
    model = nn.Sequential(
        *(nn.Linear(2, 2, bias=n not in (1, 10, 11)) for n in range(12))
    )
    for number in (1, 10, 11):
        model[number].requires_grad_(False)
    assert blocks_by_digits(model) == []
