import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.reading.frozen import base_weights, changes_of, latest_change
from tests.runs import RunBuilder


def changed(builder, step, relative, cycles=0, gradient=0.0, **fields):
    """Append a comparison of one weight whose mean magnitude is 2."""
    meta = {"module": "m.q", "tied": ""} | fields.pop("meta", {})
    name = NameRecord(
        9, "frozen", "m.q.base_layer.weight", "param", "", meta=meta, **fields
    )
    builder.run.append(name)
    values = {
        "delta_max": 2 * relative,
        "delta_share": 0.5,
        "mean_abs": 2.0,
        "cycles": cycles,
        "gradient": gradient,
    }
    columns = {key: np.array([value], np.float32) for key, value in values.items()}
    builder.run.append(Block("frozen", step, np.array([9], np.int32), columns))
    builder.step()
    return builder


def test_nothing_changed_where_nothing_was_recorded():
    assert changes_of(RunBuilder().step().run) == []


@pytest.mark.parametrize(
    ("gradients", "stepped"),
    [([0.0], True), ([0.5], False), ([0.5, 0.5], True), ([0.5, 0.4], False)],
)
def test_an_adapter_is_moved_by_what_is_left_over_of_its_gradient(gradients, stepped):
    builder = RunBuilder()
    meta = {"role": "adapter", "group": 0, "has_grad": True}
    for step, gradient in enumerate(gradients):
        changed(builder, step, 0.1, gradient=gradient, meta=meta)
    assert bool(changes_of(builder.run)) is stepped


def test_a_change_is_as_it_was_last_seen():
    builder = changed(RunBuilder(), 0, 0.1, dtype="float32")
    (change,) = changes_of(changed(builder, 1, 0.3, dtype="float32").run)
    assert change.relative == pytest.approx(0.3)
    assert (change.first, change.last, change.cycles) == (0, 1, 0)
    assert change.layer == "m.q"


@pytest.mark.parametrize(
    ("dtype", "relative", "cycles", "rounding"),
    [
        ("float32", 3e-7, 1, True),
        ("float32", 1e-5, 1, False),
        ("float32", 1e-5, 40, True),
        ("bfloat16", 0.02, 1, True),
        ("bfloat16", 0.2, 1, False),
        ("float32", 5e-6, 0, True),
        ("float32", 1e-5, 0, False),
    ],
)
def test_rounding_explains_some_epsilons_per_cycle(dtype, relative, cycles, rounding):
    builder = changed(RunBuilder(), 0, relative, cycles, dtype=dtype)
    assert changes_of(builder.run)[0].by_rounding is rounding


def with_adapter():
    builder = RunBuilder()
    meta = {"module": "m.q"}
    builder.pairs.append(NameRecord(7, "adapters", "m.q [a]", "adapter", "", meta=meta))
    builder.run.append(builder.pairs[0])
    return builder


@pytest.mark.parametrize(("size", "rounding"), [(10.0, True), (1.0, False)])
def test_an_adapter_larger_than_its_weight_is_rounded_with_it(size, rounding):
    builder = changed(with_adapter(), 0, 5e-6, 1, dtype="float32")
    builder.step(adapters={"ratio": size})
    assert changes_of(builder.run)[0].by_rounding is rounding


@pytest.mark.parametrize(("relative", "told"), [(1e-5, False), (0.1, True)])
def test_a_small_change_waits_until_the_adapter_is_measured(relative, told):
    builder = with_adapter().step(adapters={"ratio": 0.1})
    changed(builder, 1, relative, dtype="float32")
    assert bool(changes_of(builder.run)) is told
    builder.step(adapters={"ratio": 0.1})
    assert len(changes_of(builder.run)) == 1


def test_a_change_of_packed_bytes_is_rounding_only_after_a_cycle():
    meta = {"quantized": True}
    for cycles in (0, 1):
        builder = changed(RunBuilder(), 0, 5.0, cycles, meta=meta, dtype="uint8")
        assert changes_of(builder.run)[0].by_rounding is bool(cycles)


def test_weights_are_named_as_seen_or_as_peft_names_them():
    builder = changed(RunBuilder(), 0, 0.1, dtype="float32")
    assert base_weights(builder.run, ["m.q", "m.v"]) == [
        "m.q.base_layer.weight",
        "m.v.base_layer.weight",
    ]
    assert latest_change(builder.run, ["m.q.base_layer.weight"]) == pytest.approx(0.1)
    assert latest_change(builder.run, ["m.v.base_layer.weight"]) == 0
