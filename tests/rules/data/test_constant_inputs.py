"""DAT006."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.constant_inputs import ConstantInputs
from tests.rules.data.odd import (
    found,
    is_quiet_where_nothing_is_odd_and_open_on_an_empty_run,
    odd,
)

RULE = ConstantInputs()


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_where_nothing_is_odd_and_open_on_an_empty_run(RULE)


def test_the_field_and_its_number_are_named():
    (finding,) = found(RULE, (1, odd("constant", "pixel_values", value=0.0)))
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("data", "pixel_values")
