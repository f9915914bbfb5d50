"""DAT012."""

from ftlab.records.finding import Place
from ftlab.rules.data.inputs_off_scale import InputsOffScale
from tests.rules.data.odd import (
    found,
    is_quiet_where_nothing_is_odd_and_open_on_an_empty_run,
    odd,
)

RULE = InputsOffScale()


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_where_nothing_is_odd_and_open_on_an_empty_run(RULE)


def test_the_widest_sample_is_named():
    wide = odd("off-scale", "input_values", position=-1, value=6e4, limit=1e4)
    (finding,) = found(RULE, (0, wide), (1, wide))
    assert finding.places == (Place("sample", "1"),)
    assert (finding.first_step, finding.last_step) == (0, 1)
