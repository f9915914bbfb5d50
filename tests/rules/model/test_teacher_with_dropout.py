"""MOD016: teachers that answer with dropout on."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.model.teacher_with_dropout import TeacherWithDropout
from tests.runs import RunBuilder, found_by, only


def check(on, kind="part", again=0, moved=(), looks=None):
    """Judge a run by the dropouts that were on in each step; ``None`` is no row."""
    builder = RunBuilder()
    meta = {"kind": kind, "class": "Net", "p": 0.1}
    builder.run.append(NameRecord(7, "teachers", "guide", "module", "", meta=meta))
    for step, many in enumerate(on):
        looked = looks is None or step in looks
        builder.step(values={"teacher_looks": 1.0} if looked else {})
        if many is not None:
            row = {
                "dropouts_on": many,
                "passes": float(many > 0),
                "repeated": again,
                "moved": float(step in moved),
            }
            values = {
                name: np.array([value], np.float32) for name, value in row.items()
            }
            builder.run.append(Block("teachers", step, np.array([7], np.int32), values))
    return found_by(TeacherWithDropout(), builder.run)


@pytest.mark.parametrize(
    ("kind", "place"),
    [("part", "module guide"), ("other", "object guide"), ("own", "call model.eval")],
)
def test_a_teacher_with_dropout_on_in_each_step_is_found(kind, place):
    only(check((3, 3, 3), kind), "warning", place, reason=kind, steps=(0, 2))


def test_one_that_is_known_from_the_second_step_on_is_found():
    (found,) = check((None, 3, 3, None, 3), looks=(0, 1, 2, 4))
    assert found.first_step == 1


@pytest.mark.parametrize(
    "run",
    [
        {"on": (3,)},
        {"on": (0, 0, 0)},
        {"on": (None, None, 3, 3)},
        {"on": (3, 0, 0, 0, 3)},
        {"on": (3, 3, 3), "moved": (1, 2)},
    ],
    ids=["once", "off", "later", "now and then", "a mean teacher"],
)
def test_what_is_no_teacher_that_drops_is_left_alone(run):
    assert check(**run) == ()


def test_several_passes_on_the_same_input_are_noted():
    only(check((3, 3, 3), again=2), "info")
