"""Parameters in whose place other tensors stand."""

from ftlab.records.names import NameRecord
from ftlab.rules.engine import Engine
from ftlab.rules.gradient.gradient_not_reaching import GradientNotReaching
from ftlab.rules.numeric.flat_loss import FlatLoss
from ftlab.rules.optimizer.optimizer_holds_stale_parameters import (
    OptimizerHoldsStaleParameters,
)
from ftlab.rules.optimizer.parameters_without_optimizer import (
    ParametersWithoutOptimizer,
)
from ftlab.rules.reading.outside import held_outside
from tests.runs import RunBuilder

RULES = [
    GradientNotReaching(),
    FlatLoss(),
    OptimizerHoldsStaleParameters(),
    ParametersWithoutOptimizer(),
]


def functional(steps, swapped=True):
    builder = RunBuilder()
    builder.tensor("w", meta={"group": -1})
    if swapped:
        builder.run.append(NameRecord(9000, "swapped", "w", "param", ""))
    foreign = [{"shape": [8, 8], "dtype": "float32", "group": 0, "name_hint": "w"}]
    groups = [{"lr": 1e-3, "names": [], "ids": []}]
    builder.facts(
        model={"dtype": "float32"},
        optimizers=(
            {"class": "A", "groups": groups, "foreign": foreign, "missing": ["w"]},
        ),
    )
    builder.steps(steps, {"has_grad": 0.0, "grad_l2": 0.0, "update_l2": 0.0})
    return builder


def codes(builder):
    return {each.code for each in Engine(RULES).check(builder.run).findings}


def test_what_is_held_outside_is_named():
    assert held_outside(functional(1).run) == {"w"}


def test_no_rule_takes_it_for_a_fault():
    assert codes(functional(20)) == set()


def test_without_it_the_same_run_is_sick():
    assert codes(functional(20, swapped=False)) == {"GRD003", "NUM003", "OPT001"}


def test_after_the_first_step_a_model_that_is_not_called_itself_is_not_known():
    run = functional(1, swapped=False).run
    assert Engine([OptimizerHoldsStaleParameters()]).check(run).not_checked


def test_before_the_first_step_it_cannot_be_told():
    run = functional(0, swapped=False).run
    report = Engine([OptimizerHoldsStaleParameters()]).check(run)
    assert report.findings == ()
    assert "functional_call" in report.not_checked[0].reason
