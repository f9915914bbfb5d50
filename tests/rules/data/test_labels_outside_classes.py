"""DAT003."""

from ftlab.records.finding import Place
from ftlab.rules.data.labels_outside_classes import LabelsOutsideClasses
from tests.rules.data.odd import (
    found,
    is_quiet_where_nothing_is_odd_and_open_on_an_empty_run,
    odd,
)

RULE = LabelsOutsideClasses()


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_where_nothing_is_odd_and_open_on_an_empty_run(RULE)


def test_a_class_too_many_is_named():
    (finding,) = found(RULE, (2, odd("labels", "labels", value=3, limit=3)))
    assert finding.place == Place("token", "4 of sample 1")
    assert "num_labels" in finding.fix


def test_another_number_for_ignored_labels_is_told_as_such():
    (finding,) = found(RULE, (2, odd("labels", "labels", value=-1, limit=3)))
    assert "-100" in finding.fix


def test_a_loss_that_takes_them_is_right():
    assert found(RULE, (0, odd("labels", "labels", value=-1, limit=3))) == ()
