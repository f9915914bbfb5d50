"""NUM001."""

import math

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.numeric.non_finite_loss import NonFiniteLoss
from tests.runs import RunBuilder, checker, only

NAN, INF = math.nan, math.inf
check = checker(NonFiniteLoss())


def losses(*values, **fields):
    builder = RunBuilder()
    for value in values:
        builder.step(loss=value, **fields)
    return builder


def test_is_quiet_on_huge_finite_losses():
    assert check(losses(1e300, -1e300, 0.0)) == ()


def test_an_unmeasured_loss_is_not_nan():
    assert check(losses(2.0, None, 2.0)) == ()


def test_names_the_first_step_and_counts():
    finding = only(check(losses(2.0, 2.5, NAN, 2.0, INF)), "error", steps=(2, 4))
    assert finding.message.startswith("loss is NaN at step 2; 2 of 5 losses")
    assert "it was 2.5 one step before" in finding.message
    assert finding.places == (Place("object", "loss"), Place("step", "2"))


@pytest.mark.parametrize("value", [INF, -INF])
def test_an_infinite_loss_counts(value):
    (finding,) = check(losses(value))
    assert "loss is infinite at step 0" in finding.message


def test_says_when_the_trainers_log_hides_it():
    builder = losses(2.0, NAN).facts(training={"logging_nan_inf_filter": True})
    (finding,) = check(builder)
    assert "logging_nan_inf_filter is true" in finding.message
    (finding,) = check(losses(2.0, NAN))
    assert "logging_nan_inf_filter" not in finding.message


def test_names_the_parameter_whose_gradient_was_non_finite_first():
    builder = RunBuilder()
    builder.tensor("a"), builder.tensor("b")
    has = {"has_grad": [1, 1]}
    builder.step(has | {"grad_max": [1.0, 2.0]})
    builder.step(has | {"grad_max": [1.0, NAN]})
    builder.step(has | {"grad_max": [NAN, NAN]}, loss=NAN)
    (finding,) = check(builder)
    assert "non-finite at step 1" in finding.cause
    assert Place("param", "b") in finding.places
    assert Place("param", "a") not in finding.places


def test_a_gradient_that_was_none_poisons_nothing():
    builder = RunBuilder()
    builder.tensor("a")
    builder.step({"has_grad": [0], "grad_max": [NAN]})
    builder.step({"has_grad": [0], "grad_max": [NAN]}, loss=NAN)
    (finding,) = check(builder)
    assert "arose in the forward pass or the loss" in finding.cause


def test_an_overflow_that_the_scaler_skipped_poisons_nothing():
    builder = RunBuilder()
    builder.tensor("a")
    builder.step({"has_grad": [1], "grad_max": [INF]}, skipped=True)
    builder.step({"has_grad": [1], "grad_max": [1.0]}, loss=NAN)
    (finding,) = check(builder)
    assert "arose in the forward pass or the loss" in finding.cause


def test_is_quiet_while_the_scaler_searches():
    builder = RunBuilder()
    for power in range(24, 19, -1):
        builder.step(loss=INF, skipped=True, loss_scale=2.0**power)
    builder.step(loss=NAN, skipped=True, loss_scale=2.0**19)
    builder.steps(10, loss=2.0, loss_scale=2.0**18)
    assert check(builder) == ()


@pytest.mark.parametrize(("count", "found"), [(2, False), (3, True)])
def test_nan_at_three_skipped_steps_in_a_row_is_no_search(count, found):
    builder = losses(*[NAN] * count, skipped=True, loss_scale=1024.0)
    assert bool(check(builder)) is found


def test_skipped_steps_are_a_warning():
    (finding,) = check(losses(*[NAN] * 4, skipped=True, loss_scale=1024.0))
    assert finding.severity is Severity.WARNING
    assert "no weight was affected" in finding.cause


def test_an_infinite_loss_at_scale_one_counts():
    assert check(losses(INF, skipped=True, loss_scale=2.0)) == ()
    assert len(check(losses(INF, skipped=True, loss_scale=1.0))) == 1


def test_stays_one_finding_in_a_long_run():
    only(check(losses(*[2.0] * 10, *[NAN] * 700)), steps=(10, 709))


@pytest.mark.parametrize("norm", [0.0, NAN])
def test_a_batch_without_labels_is_named(norm):
    builder = losses(2.0, values={"labels": 7.0})
    builder.step(loss=NAN, values={"labels": 0.0}, grad_norm=norm)
    (finding,) = check(builder)
    assert "Every label of these batches is -100" in finding.cause
    assert "0/0" in finding.cause
    assert ("no weight was affected" in finding.cause) is (norm == 0)
    assert finding.severity is (Severity.WARNING if norm == 0 else Severity.ERROR)
    assert "ftlab.tokens(batch=" in finding.fix
    assert "1 of 2 losses in steps 0-1 is not finite" in finding.message


def test_nan_losses_of_batches_with_labels_are_not_put_down_to_labels():
    builder = losses(NAN, values={"labels": 0.0})
    builder.step(loss=NAN, values={"labels": 5.0}, grad_norm=NAN)
    (finding,) = check(builder)
    assert "-100" not in finding.cause


def test_names_the_operation_where_it_is_known():
    builder = losses(2.0, NAN)
    detail = {"of": "loss", "ops": ["log", "mul"], "reasons": ["zero times infinity"]}
    builder.run.append(Event("origin", 1, 0.0, "", detail))
    finding = only(check(builder), origin="log and mul")
    assert finding.places[:2] == (Place("op", "log"), Place("op", "mul"))
    assert "log and mul produced it" in finding.message
    assert "multiplied by 0" in finding.cause
