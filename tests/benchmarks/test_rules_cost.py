"""The rules are timed on what was recorded, and each on its own."""

import numpy as np

from benchmarks.rules_cost import records, repeated, round_costs
from tests.runs import healthy_lora


def test_a_repeated_run_holds_what_was_recorded():
    run = healthy_lora().run
    length = run.last_step + 1
    longer = repeated(run, 2 * length)
    assert len(longer.steps) == 2 * length
    np.testing.assert_array_equal(longer.steps["loss"], np.tile(run.steps["loss"], 2))
    once, twice = run.matrix("grad_l2"), longer.matrix("grad_l2")
    np.testing.assert_array_equal(twice.values, np.tile(once.values, (2, 1)))
    assert longer.names() == run.names()
    assert len(list(records(longer, length))) == len(list(records(run, 0)))


def test_each_rule_that_judged_has_its_time():
    costs = round_costs(repeated(healthy_lora().run, 40))
    assert {"all", "GRD001", "NUM003"} <= set(costs)
    assert sum(costs.values()) < 3 * costs["all"]
