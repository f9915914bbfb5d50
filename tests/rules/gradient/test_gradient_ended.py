"""GRD009."""

import numpy as np
import pytest

from ftlab.rules.gradient.gradient_ended import GradientEnded
from tests.runs import RunBuilder, found_by, only

EMBED, BLOCK, NEXT, HEAD = range(4)


def check(*columns, by=None, group=0):
    """Judge a run of four tensors; a column says at which steps one has gradients."""
    builder = RunBuilder()
    builder.tensor("model.embed.weight", "embed", meta={"group": group})
    builder.tensor("model.layers.0.w", "layers.0", meta={"group": group})
    builder.tensor("model.norm.weight", "norm", meta={"group": group})
    builder.tensor("model.head.weight", "head", meta={"group": group})
    for has in np.array(columns, int).T.tolist():
        values = {"has_grad": has, "grad_l2": 1.0}
        if by == "zeros":
            values = {"has_grad": 1, "grad_l2": [float(each) for each in has]}
        builder.step(values)
    return found_by(GradientEnded(), builder.run)


def ended(before=10, after=20):
    return [1] * before + [0] * after


def always(steps=30):
    return [1] * steps


def test_is_quiet_on_a_healthy_run():
    assert check(*[always()] * 4) == ()


@pytest.mark.parametrize("by", [None, "zeros"])
def test_names_the_tensor_and_the_step(by):
    finding = only(check(ended(), always(), always(), always(), by=by), "warning")
    assert str(finding.place) == "param model.embed.weight"
    assert (finding.first_step, finding.last_step) == (10, 29)
    assert "from step 10 on" in finding.message


def test_blocks_behind_something_that_trains_are_warned_of():
    only(check(always(), ended(), always(), always()), "warning")


def test_an_output_that_is_left_out_is_a_note():
    only(check(always(), always(), always(), ended()), "info")


@pytest.mark.parametrize(("before", "after"), [(7, 30), (20, 15)])
def test_few_steps_prove_nothing(before, after):
    rest = [always(before + after)] * 3
    assert check(ended(before, after), *rest) == ()


def test_another_task_that_begins_is_no_fault():
    begins = [0] * 10 + [1] * 20
    assert check(always(), always(), begins, ended()) == ()


def test_gaps_are_compared_with_the_gaps_before():
    dropped = [1, 1, 1, 0, 0, 0, 0, 0] * 5
    rare = [1] * 10 + [0] * 5 + [1] * 10 + [0] * 16
    assert check(dropped, *[always(40)] * 3) == ()
    assert check(rare, *[always(41)] * 3) == ()


def test_where_nothing_has_gradients_it_is_another_fault():
    assert check(*[ended()] * 4) == ()


def test_what_no_optimizer_holds_is_let_pass():
    assert check(ended(), always(), always(), always(), group=-1) == ()
