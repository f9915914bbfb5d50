"""DAT010."""

from ftlab.records.finding import Place
from ftlab.rules.data.shapes_disagree import ShapesDisagree
from tests.rules.data.odd import (
    found,
    is_quiet_where_nothing_is_odd_and_open_on_an_empty_run,
    odd,
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
