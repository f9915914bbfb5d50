"""DAT004."""

import math

from ftlab.records.batch_facts import SeenBatches
from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.finding import Place
from ftlab.rules.data.nothing_to_train import NothingToTrain
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run
from tests.rules.data.odd import found, odd
from tests.runs import only

RULE = NothingToTrain()
EMPTY = odd("ignored", "labels", row=-1, position=-1, rows=2)


def test_the_first_loss_without_labels_is_named_with_its_samples():
    (finding,) = found(RULE, (1, EMPTY), losses=(2.0, math.nan, math.nan))
    places = (Place("sample", "0"), Place("sample", "1"), Place("step", "1"))
    assert finding.places == (*places, Place("data", "labels"))
    assert finding.first_step == 1


def test_a_loss_of_exactly_zero_is_no_better_where_no_batch_has_labels():
    told = [(step, EMPTY) for step in range(2)]
    assert found(RULE, *told, losses=(0.0, 0.0), values={"unlabelled": 1.0})
    assert found(RULE, told[0], losses=(0.0, 2.0), values={"unlabelled": 0.5}) == ()


def test_where_no_batch_has_labels_they_are_made_wrongly():
    told = [(step, EMPTY) for step in range(2)]
    losses = (math.nan, math.nan)
    each, half = {"unlabelled": 1.0}, {"unlabelled": 0.5}
    (all_of_them,) = found(RULE, *told, losses=losses, values=each)
    (some,) = found(RULE, told[0], losses=losses, values=half)
    assert "mark the answers" in all_of_them.fix
    assert "max_length" in some.fix


def test_a_finite_loss_had_labels_elsewhere():
    assert found(RULE, (1, EMPTY)) == ()


def test_a_loss_that_was_lost_before_has_another_cause():
    assert found(RULE, (1, EMPTY), losses=(math.nan, math.nan)) == ()


def test_rows_that_nobody_trains_on_yet_are_warned():
    run = Run()
    seen = SeenBatches(0, (EMPTY, EMPTY))
    run.append(Event("batch", 0, 0.0, "", seen.as_json()))
    finding = only(Engine([RULE]).check(run).findings, "warning")
    assert finding.places[-1] == Place("data", "labels")
    run.append(Facts(model={"class": "Llama"}))
    assert Engine([RULE]).check(run).findings == ()
