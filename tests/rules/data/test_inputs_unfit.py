"""DAT005: inputs that are no numbers, one number or too large, and others."""

import math

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.inputs_unfit import InputsUnfit
from tests.rules.data.odd import found, odd
from tests.runs import only

RULE = InputsUnfit()


NAN = odd("non-finite", "pixel_values", position=-1, value="NaN")


def test_the_sample_is_named_where_the_loss_is_lost():
    (finding,) = found(RULE, (1, NAN), losses=(2.0, math.nan))
    assert finding.places == (Place("sample", "1"), Place("step", "1"))


def test_a_token_is_named_where_inputs_have_tokens():
    nan = odd("non-finite", "inputs_embeds", value="NaN")
    only(found(RULE, (1, nan), losses=(2.0, math.nan)), place="token 4 of sample 1")


def test_a_model_that_fills_gaps_may_be_given_them():
    assert found(RULE, (1, NAN)) == ()


def test_a_loss_that_was_lost_before_has_another_cause():
    assert found(RULE, (1, NAN), losses=(math.nan, math.nan)) == ()


def test_the_field_and_its_number_are_named():
    (finding,) = found(RULE, (1, odd("constant", "pixel_values", value=0.0)))
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("data", "pixel_values")


def test_the_widest_sample_is_named():
    wide = odd("off-scale", "input_values", position=-1, value=6e4, limit=1e4)
    finding = only(found(RULE, (0, wide), (1, wide)), steps=(0, 1))
    assert finding.places == (Place("sample", "1"),)
