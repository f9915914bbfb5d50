"""MOD018: copies that run the model that they were copied from."""

import pytest

from ftlab.rules.model.copy_runs_original import CopyRunsOriginal
from tests.runs import RunBuilder, found_by, only


def report(steps):
    """``steps``: calls of copies, and whether their weights were others."""
    builder = RunBuilder().facts(model={"class": "Toy"})
    for calls, apart in steps:
        values = {"borrowed_calls": calls}
        builder.step(values=values | ({} if apart is None else {"copies_apart": apart}))
    return found_by(CopyRunsOriginal(), builder.run)


def test_a_copy_is_found_from_the_step_on_in_which_its_weights_are_others():
    found = only(report([(2, 0), (2, 1), (0, None), (3, 1)]), steps=(1, 3), calls=5)
    assert str(found.place) == "call copy.deepcopy"
    assert "object another Toy" in map(str, found.places)


@pytest.mark.parametrize("steps", [[(0, None)] * 3, [(1, 0)] * 3])
def test_copies_that_are_not_called_or_hold_the_same_weights_are_no_matter(steps):
    assert report(steps) == ()
