"""GRD006."""

import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.gradient.gradients_thrown_away import GradientsThrownAway
from tests.runs import RunBuilder, healthy_lora


def report(*thrown, optimizers=1):
    builder = RunBuilder()
    builder.facts(optimizers=({"class": "AdamW"},) * optimizers)
    for count in thrown:
        values = {} if count is None else {"gradients_thrown_away": count}
        builder.step(values=values)
    return Engine([GradientsThrownAway()]).check(builder.run)


def test_is_left_out_where_no_update_had_gradients_to_look_at():
    found = Engine([GradientsThrownAway()]).check(healthy_lora().run)
    assert (found.findings, found.not_checked) == ((), ())


def test_finds_backwards_that_nothing_used():
    (finding,) = report(3, 3, 3).findings
    assert "3 of 4 backwards" in finding.message
    assert str(finding.place) == "call optimizer.zero_grad"


@pytest.mark.parametrize("thrown", [(3, 3), (3, 3, 0), (0, 0, 0, 0), (3, 0, 3, 0, 3)])
def test_once_or_twice_is_let_pass(thrown):
    assert report(*thrown).findings == ()


def test_two_optimizers_may_clear_in_turn():
    assert report(1, 1, 1, 1, optimizers=2).findings == ()
