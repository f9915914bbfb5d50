"""DAT010."""

from ftlab.records.event import Event
from ftlab.records.finding import Place
from ftlab.rules.data.shapes_disagree import ShapesDisagree
from ftlab.rules.engine import Engine
from tests.rules.data.odd import (
    found,
    is_quiet_where_nothing_is_odd_and_open_on_an_empty_run,
    odd,
    run_of,
)

RULE = ShapesDisagree()
ODD = odd("shape", "labels", value="(8, 7)", limit="(8, 8)")


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_where_nothing_is_odd_and_open_on_an_empty_run(RULE)


def test_what_ended_the_run_is_named():
    (finding,) = found(RULE, (2, ODD))
    assert finding.place == Place("data", "labels")
    assert "(8, 7)" in finding.message


def test_what_the_model_has_taken_is_right():
    assert found(RULE, (1, ODD)) == ()


def test_ids_that_are_in_no_rows_are_told_in_other_words():
    stacked = odd("shape", "input_ids", value="(8, 1, 7)", limit="(8, 7)")
    (finding,) = found(RULE, (2, stacked))
    assert finding.place == Place("data", "input_ids")
    assert "samples of tokens, (8, 7)" in finding.message
    assert "return_tensors" in finding.cause


def test_ids_in_no_rows_that_were_taken_are_told_where_blocks_misread_them():
    stacked = odd("shape", "input_ids", value="(8, 1, 7)", limit="(8, 7)")
    run = run_of((1, stacked))
    assert Engine([RULE]).check(run).findings == ()
    detail = {"rows": 0, "places": [], "hidden": [8, 1, 7, 4]}
    run.append(Event("attention", 1, 0.0, "", detail))
    (finding,) = Engine([RULE]).check(run).findings
    assert finding.place == Place("data", "input_ids")
