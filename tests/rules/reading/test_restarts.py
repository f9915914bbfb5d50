"""Steps at which adapters were set back."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.reading.restarts import restarts_of
from tests.rules.reading.test_frozen import changed
from tests.runs import RunBuilder

STEPS = 12
LAYERS = 4
LOOP = [("forward", "model", {"grad_enabled": True}), ("step", "optimizer 0", {})]


def pairs(at, layers=LAYERS, before=None, dtype="float32", optimizers=None):
    """Build a run of LoRA whose first ``layers`` are back at 0 at the steps ``at``."""
    builder = RunBuilder()
    for layer in range(LAYERS):
        path = f"model.layers.{layer}.q"
        for role in ("lora_A", "lora_B"):
            meta = {"role": role, "adapter": "default", "module": path}
            builder.tensor(f"{path}.{role}.default", meta=meta, dtype=dtype)
    builder.facts(model={"adapters": {"adapters": {"default": {}}}})
    for step in range(STEPS):
        zero = step == 0 or step in at
        first = [0.0 if zero and layer < layers else 0.5 for layer in range(LAYERS)]
        gradients = [each for a in first for each in (a, 1.0)]
        target = f"optimizer {(optimizers or {}).get(step, 0)}"
        ops = [(LOOP[1][0], target, {}) if op[0] == "step" else op for op in LOOP]
        if step + 1 in at and before:
            ops.append((before, "adapters", {}))
        columns = {"has_grad": 1.0, "grad_l2": gradients}
        builder.step(columns, ops=ops)
    return builder


def vectors(at):
    """Build a run of IA3 whose vectors are 1 at the steps ``at``."""
    builder = RunBuilder()
    row = builder.tensor("layers.0.ia3_l.default", meta={"adapter": "default"})
    meta = {"adapter": "default", "module": "layers.0", "param": row}
    name = "layers.0 [default]"
    builder.run.append(NameRecord(7, "vectors", name, "adapter", "", meta=meta))
    builder.facts(model={"adapters": {"adapters": {"default": {}}}})
    for step in range(STEPS):
        off = 0.0 if step in (0, *at) else 0.1
        values = {"off_one": np.array([off], np.float32)}
        builder.run.append(Block("vectors", step, np.array([7], np.int32), values))
        builder.step({"has_grad": 1.0, "grad_l2": 1.0}, ops=LOOP)
    return builder


def steps(builder):
    return {adapter: each.steps for adapter, each in restarts_of(builder.run).items()}


def test_the_first_step_is_no_restart():
    assert steps(pairs(at=())) == {}
    assert steps(vectors(at=())) == {}


def test_gradients_of_0_beside_others_tell_that_a_product_is_0_again():
    assert steps(pairs(at=(4, 8))) == {"default": (4, 8)}


def test_vectors_are_back_at_1():
    assert steps(vectors(at=(4, 8))) == {"default": (4, 8)}


def test_some_layers_are_not_the_adapter():
    assert steps(pairs(at=(4, 8), layers=1)) == {}
    assert steps(pairs(at=(4, 8), layers=2)) == {"default": (4, 8)}


@pytest.mark.parametrize("op", ["merge", "save", "unload", "load_adapter"])
def test_what_was_kept_before_is_not_lost(op):
    assert steps(pairs(at=(4, 8), before=op)) == {}


def test_a_new_optimizer_begins_a_new_training():
    new = dict.fromkeys(range(4, STEPS), 1)
    assert steps(pairs(at=(4,), optimizers=new)) == {}


def test_two_optimizers_in_turn_are_no_excuse_after_the_first_turn():
    turns = {step: step % 2 for step in range(STEPS)}
    assert steps(pairs(at=(4, 8), optimizers=turns)) == {"default": (4, 8)}


def test_a_small_gradient_is_0_in_float16_as_well():
    assert steps(pairs(at=(4, 8), dtype="float16")) == {}
    assert steps(pairs(at=(4, 8), dtype="bfloat16")) == {"default": (4, 8)}


def test_a_base_that_has_changed_holds_what_was_learned():
    builder = pairs(at=(4, 8))
    changed(builder, STEPS, 0.3, dtype="float32", meta={"module": "model.layers.0.q"})
    assert steps(builder) == {}
