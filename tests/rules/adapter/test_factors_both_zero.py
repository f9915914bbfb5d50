"""ADP039."""

from ftlab.rules.adapter.factors_both_zero import FactorsBothZero
from tests.runs import RunBuilder, found_by, only, places


def check(*layers, steps=2, role="adapter", adapter="default", shape=(8,)):
    """Check layers, each a sequence of (weight, gradient) of its tensors."""
    builder = RunBuilder()
    for index, tensors in enumerate(layers):
        for number, _ in enumerate(tensors):
            module = f"layers.{index}.q" + ("" if adapter else f".{number}")
            meta = {"role": role, "adapter": adapter, "module": module}
            name = f"layers.{index}.q.{'xyz'[number]}"
            builder.tensor(name, f"layers.{index}", meta=meta, shape=shape)
    flat = [tensor for tensors in layers for tensor in tensors]
    columns = {"has_grad": 1.0, "weight_l2": [w for w, _ in flat]}
    builder.steps(steps, columns | {"grad_l2": [g for _, g in flat]})
    return found_by(FactorsBothZero(), builder.run)


STUCK = ((0.0, 0.0), (0.0, 0.0))
HEALTHY = ((0.0, 1.0), (3.0, 0.0))


def test_two_factors_at_0_without_gradients():
    finding = only(check(STUCK, HEALTHY), layers=1)
    assert places(finding) == ["param layers.0.q.x", "param layers.0.q.y"]


def test_one_factor_at_0_is_how_adapters_begin():
    assert check(HEALTHY, HEALTHY) == ()


def test_one_step_proves_nothing():
    assert check(STUCK, steps=1) == ()


def test_a_factor_that_is_not_0_may_wait_for_its_partner():
    assert check(((0.0, 0.0), (2.0, 0.0))) == ()


def test_a_factor_at_0_that_has_a_gradient_leaves_it():
    assert check(((0.0, 1.0), (0.0, 0.0))) == ()


def test_matrices_of_one_module_belong_together():
    only(check(STUCK, HEALTHY, role="weight", adapter="", shape=(8, 4)), tensors=2)


def test_vectors_of_a_model_are_no_factors():
    assert check(STUCK, role="weight", adapter="", shape=(8,)) == ()


def test_the_pairs_of_lora_are_told_by_another_rule():
    assert check(STUCK, role="lora_A") == ()
