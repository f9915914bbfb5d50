"""The gallery with other families, names, sizes, seeds and loops: the score is kept.

Rules find a fault by its class. So every fault is built anew on each family that it can
be built on, with another adapter name, other sizes and another style of its loop.
"""

import pytest

from ftlab.faults.registry import list_faults
from ftlab.faults.variation import Variation
from ftlab.session.scoring.grade import grade

WAYS = {
    "llama": Variation(
        seed=5, adapter="mine", width=128, depth=3, rank=4, loop="zero-after"
    ),
    "gpt2": Variation(
        seed=6, family="gpt2", adapter="q_proj", width=80, rank=6, loop="accumulate"
    ),
    "neox": Variation(seed=7, family="neox", adapter="second", width=32, depth=4),
    "own": Variation(
        seed=8, family="own", adapter="zweite", width=48, rank=2, loop="zero-after"
    ),
}
"""One way for each family; between them each loop, and names that could mislead."""


EVERY = 40
"""One fault in so many is built anew in the fast set, the others in the slow one."""


def builds():
    """Give each fault a way for each of its families; a sample of them is fast."""
    for turn, fault in enumerate(list_faults()):
        others = [each for each in fault.families if each != "llama"] or ["llama"]
        first = others[turn % len(others)] if turn % EVERY == 0 else ""
        for family in fault.families:
            marks = () if family == first else pytest.mark.slow
            name = f"{fault.id}-{family}"
            yield pytest.param(fault, WAYS[family], id=name, marks=marks)


@pytest.mark.parametrize(("fault", "variation"), list(builds()))
def test_names_sizes_seeds_families_and_loops_do_not_matter(fault, variation):
    graded = grade(fault, variation=variation)
    assert graded.right_cause, graded
    assert graded.right_place, graded
    assert graded.wrong == (), graded
    assert graded.twin == (), graded


def test_each_family_and_each_loop_is_among_the_ways():
    assert {way.family for way in WAYS.values()} == set(WAYS)
    assert {way.loop for way in WAYS.values()} == {
        "plain",
        "zero-after",
        "accumulate",
    }
