"""Passes of teachers with dropout on, as they are recorded."""

import pytest

from ftlab.faults.model.modes import (
    healthy_teachers_that_drop as teachers_that_drop,
    reference_with_dropout,
    teacher_beside_in_training_mode,
    teacher_in_training_mode,
)
from ftlab.probes.modes.mode_teachers import TeacherModes
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord


def record(case, steps=4):
    """Return the rows of each teacher by name, and the steps looked at."""
    records = []
    subject = Subject(case.model, [case.optimizer])
    with Recorder(subject, [TeacherModes()], records.append):
        case.run(steps)
    names = {n.id: n.name for n in records if isinstance(n, NameRecord)}
    rows = {}
    for each in records:
        if isinstance(each, Block) and each.table == "teachers":
            values = {name: column[0] for name, column in each.values.items()}
            rows.setdefault(names[each.ids[0]], []).append((each.step, values))
    steps = [each for each in records if isinstance(each, StepRecord)]
    return rows, [each.step for each in steps if each.values.get("teacher_looks")]


@pytest.mark.parametrize(
    ("module", "name", "first"),
    [
        (teacher_in_training_mode, "guide", 0),
        (reference_with_dropout, "model", 0),
        (teacher_beside_in_training_mode, "another GPT2LMHeadModel", 1),
    ],
)
def test_each_answer_is_recorded_with_what_drops(module, name, first):
    rows, _ = record(module.build(fixed=False))
    assert [step for step, _ in rows[name]] == list(range(first, 4))
    for _, values in rows[name]:
        assert values["dropouts_on"] == 5
        assert (values["passes"], values["repeated"], values["moved"]) == (1, 0, 0)


@pytest.mark.parametrize("module", [teacher_in_training_mode, reference_with_dropout])
def test_a_teacher_in_evaluation_mode_has_no_row(module):
    rows, looks = record(module.build(fixed=True))
    assert (rows, looks) == ({}, [0, 1, 2, 3])


def test_a_mean_teacher_moves():
    rows, _ = record(teachers_that_drop.build())
    assert list(rows) == ["mean"]
    assert [values["moved"] for _, values in rows["mean"]] == [0, 1, 1, 1]


def test_later_two_steps_in_a_row_are_looked_at():
    _, looks = record(reference_with_dropout.build(fixed=True), 20)
    assert looks == [0, 1, 2, 3, 4, 5, 8, 9, 16, 17]


def test_no_hook_stays():
    case = teacher_in_training_mode.build(fixed=False)
    record(case, 2)
    assert not any(module._forward_pre_hooks for module in case.model.modules())
