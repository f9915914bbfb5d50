import math

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord
from ftlab.runlog.run import Run
from ftlab.views.charts import layer_columns
from ftlab.views.layers.gradients_summary import GradientColumns
from tests.views.sample import add_name, add_step, named, random_run


def summary_of(run):
    columns = GradientColumns(run)
    columns.follow()
    return columns.freeze()


def dumb_layer(run, step, layer):
    """Root of summed squares, maximum and counts, one tensor after the other."""
    norm, top, has = (run.matrix(name) for name in ("grad_l2", "grad_max", "has_grad"))
    squares, largest, bad, none, zero, good = 0.0, 0.0, 0, 0, 0, 0
    for row, record in run.names().items():
        if record.layer != layer:
            continue
        if has.values[step, row] == 0:
            none += 1
        elif not math.isfinite(norm.values[step, row]):
            bad += 1
        else:
            good += 1
            zero += norm.values[step, row] == 0
            squares += float(norm.values[step, row]) ** 2
            largest = max(largest, float(top.values[step, row]))
    if good == 0:
        return (math.nan if bad else -1.0,) * 2 + (bad, none, zero)
    return math.sqrt(squares), largest, bad, none, zero


def test_layers_equal_a_dumb_computation():
    run = random_run()
    summary = summary_of(run)
    for step in range(20):
        for at, layer in enumerate(summary.layers):
            expected = dumb_layer(run, step, layer)
            got = [
                summary.layer_values[name][step, at]
                for name in ("norm", "max", "non_finite", "no_gradient", "zero")
            ]
            np.testing.assert_allclose(got, expected, rtol=1e-6, err_msg=f"{step}")


def test_parameters_keep_their_norm_and_what_is_none():
    run = named(1, 3)
    add_step(run, 0, [0.5, math.nan, 0.0], has=[1, 0, 1])
    add_step(run, 1, [math.nan, math.inf, 2.0])
    summary = summary_of(run)
    assert summary.norm[0].tolist() == [0.5, -1.0, 0.0]
    assert np.isnan(summary.norm[1, 0])
    assert summary.norm[1, 1:].tolist() == [math.inf, 2.0]


def test_a_layer_with_one_bad_tensor_is_shown_as_bad_but_keeps_its_finite_norm():
    run = named(1, 2)
    add_step(run, 0, [3.0, math.nan])
    summary = summary_of(run)
    assert summary.layer_values["norm"][0, 0] == 3.0
    assert np.isnan(summary.shown[0, 0])


def test_a_norm_that_overflows_is_bad_though_the_largest_entry_is_not():
    run = named(1, 1)
    add_step(run, 0, [math.inf], [1e30])
    summary = summary_of(run)
    assert summary.layer_values["non_finite"].tolist() == [[1.0]]
    assert np.isnan(summary.shown).all()


def test_a_summary_is_not_changed_by_later_steps():
    run = named(1, 1)
    add_step(run, 0, [1.0])
    columns = GradientColumns(run)
    columns.follow()
    frozen = columns.freeze()
    columns.columns.put(0, np.full(columns.columns.rows, 9.0))
    assert frozen.norm.tolist() == [[1.0]]


def test_layers_stand_in_the_order_of_the_model():
    run = Run()
    for row, layer in enumerate(["embed_tokens", "layers.0", "layers.1", "lm_head"]):
        run.append(NameRecord(row, "tensors", f"{layer}.weight", "param", layer))
    add_step(run, 0, [1, 1, 1, 1])
    assert summary_of(run).layers == ("embed_tokens", "layers.0", "layers.1", "lm_head")


def test_following_step_by_step_equals_reading_at_once():
    whole = random_run(steps=30)
    norm, top, has = (
        whole.matrix(name).values for name in ("grad_l2", "grad_max", "has_grad")
    )
    live = named(3, 4)
    columns = GradientColumns(live)
    for step in range(30):
        add_step(live, step, norm[step], top[step], has[step])
        columns.follow()
    first, second = columns.freeze(), summary_of(whole)
    assert np.array_equal(first.norm, second.norm, equal_nan=True)
    for name, values in first.layer_values.items():
        assert np.array_equal(values, second.layer_values[name], equal_nan=True)


def test_parameters_may_appear_on_the_way():
    run = named(1, 1)
    columns = GradientColumns(run)
    add_step(run, 0, [1.0])
    assert not columns.follow()
    add_name(run, 1, 1, "late")
    add_step(run, 1, [1.0, 2.0])
    assert columns.follow()
    summary = columns.freeze()
    assert summary.layers == ("layers.0", "layers.1")
    assert summary.norm.tolist() == [[1.0, -2.0], [1.0, 2.0]]


def test_long_runs_are_read_from_roll_ups(monkeypatch):
    run = named(1, 2)
    for step in range(200):
        add_step(run, step, [step, math.nan if step == 70 else 1.0])
    monkeypatch.setattr(layer_columns, "RAW_BUDGET", 100)
    columns = GradientColumns(run)
    columns.follow()
    summary = columns.freeze()
    assert summary.stride == 64
    assert summary.norm[:, 0].tolist() == [63.0, 127.0, 191.0, 199.0]
    assert np.isnan(summary.norm[1, 1])
    add_step(run, 200, [500.0, 1.0])
    columns.follow()
    assert columns.freeze().norm[3, 0] == 500.0


def test_an_empty_run_has_no_columns():
    summary = summary_of(Run())
    assert summary.layers == ()
    assert summary.norm.shape == (0, 0)
    assert summary.marks == ()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_blocks_of_any_float_type_are_read(dtype):
    run = named(1, 1)
    values = {"grad_l2": np.ones(1, dtype), "grad_max": np.ones(1, dtype)}
    run.append(Block("tensors", 0, np.zeros(1, np.int32), values))
    run.append(StepRecord(0, 0.0))
    summary = summary_of(run)
    assert summary.norm.tolist() == [[1.0]]
    assert summary.layer_values["norm"].tolist() == [[1.0]]


def test_a_run_that_begins_late_keeps_its_step_numbers():
    run = named(1, 1)
    add_step(run, 5000, [1.0])
    add_step(run, 5001, [2.0])
    assert summary_of(run).first_steps.tolist() == [5000, 5001]
