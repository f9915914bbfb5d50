"""Why a gradient did not arrive."""

from ftlab.records.names import NameRecord
from ftlab.rules.reasons.missing import Missing
from ftlab.rules.reasons.reach import reason_of
from tests.runs import RunBuilder

FORWARD = ("forward", "model", {"mode": "train", "grad_enabled": True})
NO_GRAD = ("forward", "model", {"mode": "train", "grad_enabled": False})
BACKWARD = ("backward", "loss", {"micro": 0})
STEP = ("step", "optimizer 0", {})
ZERO = ("zero_grad", "optimizer 0", {})


def name(text, layer="", dtype="float32", adapter=""):
    meta = {"adapter": adapter, "module": text}
    return NameRecord(0, "tensors", text, "param", layer, (2,), dtype, meta=meta)


LOW, HIGH = name("m.layers.0.w", "layers.0"), name("m.layers.1.w", "layers.1")
HEAD = name("m.head.w", "head")


def kind(builder, lost, reached=(), *, none=True):
    return reason_of(builder.run, Missing(none, lost, reached)).kind


def loop(*ops, count=3, **fields):
    return RunBuilder().steps(count, ops=ops, **fields)


def test_zero_grad_between_backward_and_step():
    assert kind(loop(FORWARD, BACKWARD, ZERO, STEP), [LOW]) == "zero-grad-before-step"


def test_a_step_between_the_forward_and_its_backward():
    builder = loop(BACKWARD, ZERO, FORWARD, STEP)
    assert kind(builder, [LOW]) == "step-before-backward"
    reason = reason_of(builder.run, Missing(True, [LOW], ()))
    assert str(reason.places[0]) == "call optimizer.step"


def test_zero_grad_elsewhere_is_legal():
    for ops in ((ZERO, FORWARD, BACKWARD, STEP), (FORWARD, BACKWARD, STEP, ZERO)):
        assert kind(loop(*ops), [HEAD]) == "unknown"


def test_zero_grad_explains_nothing_when_others_have_gradients():
    builder = loop(FORWARD, BACKWARD, ZERO, STEP)
    assert kind(builder, [LOW], [HIGH]) == "graph-cut"


def test_no_backward():
    assert kind(loop(FORWARD, STEP), [LOW]) == "no-backward"


def test_forward_without_gradients():
    assert kind(loop(NO_GRAD, BACKWARD, STEP), [LOW]) == "forward-without-grad"
    assert kind(loop(NO_GRAD, FORWARD, BACKWARD, STEP), [HEAD]) == "unknown"


def test_the_lowest_layers_only():
    reason = reason_of(RunBuilder().run, Missing(True, [LOW], [HIGH, HEAD]))
    assert reason.kind == "graph-cut"
    assert [place.name for place in reason.places] == ["m.layers.0"]


def test_all_layers_but_not_the_head():
    reason = reason_of(RunBuilder().run, Missing(True, [LOW, HIGH], [HEAD]))
    assert [place.name for place in reason.places] == ["m.layers.1"]


def test_a_hole_in_the_middle_is_no_cut():
    top = name("m.layers.2.w", "layers.2")
    assert kind(RunBuilder(), [HIGH], [LOW, top]) == "unknown"


def test_a_layer_that_is_partly_reached_is_no_cut():
    other = name("m.layers.0.v", "layers.0")
    assert kind(RunBuilder(), [LOW], [other, HIGH]) == "unknown"


def facts(**model):
    return RunBuilder().facts(model=model)


def test_reentrant_checkpointing():
    builder = facts(gradient_checkpointing=True, checkpoint_reentrant=True)
    reason = reason_of(builder.run, Missing(True, [LOW, HIGH], [HEAD]))
    assert reason.kind == "checkpoint-without-input-grad"
    assert "inputs_embeds" not in reason.cause


def test_reentrant_checkpointing_with_a_hook_that_was_bypassed():
    builder = facts(
        gradient_checkpointing=True,
        checkpoint_reentrant=True,
        input_requires_grad_hook=True,
    )
    reason = reason_of(builder.run, Missing(True, [LOW, HIGH], [HEAD]))
    assert "inputs_embeds" in reason.cause


def test_checkpointing_that_is_not_reentrant_is_not_blamed():
    builder = facts(gradient_checkpointing=True, checkpoint_reentrant=False)
    assert kind(builder, [LOW, HIGH], [HEAD]) == "graph-cut"


def adapters(builder, **meta):
    builder.pair("layers.0", "first", **meta)
    mine = name("m.layers.1.q.lora_A.first.weight", "layers.1", adapter="first")
    other = name("m.layers.0.q.lora_A.other.weight", "layers.0", adapter="other")
    return reason_of(builder.run, Missing(True, [mine], [other]))


def test_one_adapter_of_two():
    reason = adapters(RunBuilder())
    assert reason.kind == "adapter-not-in-forward"
    assert "adapter other did" in reason.cause
    assert "does not tell" in reason.cause


def test_a_merged_adapter():
    assert "merged into the base" in adapters(RunBuilder(), merged=True).cause


def test_an_inactive_adapter():
    assert "a different adapter is active" in (
        adapters(RunBuilder(), active=False).cause
    )


def test_no_labels():
    builder = loop(FORWARD, BACKWARD, STEP, values={"labels": 0.0})
    assert kind(builder, [LOW], none=False) == "no-labels"
    builder.step(values={"labels": 3.0})
    assert kind(builder, [LOW], none=False) == "unknown"


def test_half_precision_without_a_scaler():
    half = name("w", dtype="float16")
    builder = RunBuilder().facts(training={"scaler": False})
    assert kind(builder, [half], [HEAD], none=False) == "float16-without-scaler"
    assert kind(builder, [half, LOW], [HEAD], none=False) == "unknown"
    assert kind(RunBuilder(), [half], [HEAD], none=False) == "unknown"


def test_what_is_not_proven_is_called_unknown():
    for none in (True, False):
        reason = reason_of(RunBuilder().run, Missing(none, [HEAD], [LOW]))
        assert reason.kind == "unknown"
        assert "does not tell which" in reason.cause


def test_a_loss_that_is_multiplied_by_zero():
    constant = ("backward", "loss", {"micro": 0, "times_zero": "mul"})
    builder = loop(FORWARD, constant, STEP, count=2)
    assert kind(builder, [LOW], none=False) == "loss-times-zero"
    assert kind(builder, [LOW], [HIGH], none=False) == "unknown"
    assert kind(loop(FORWARD, constant, STEP, count=1), [LOW], none=False) == "unknown"


def test_the_setting_that_is_zero_is_named():
    constant = ("backward", "loss", {"micro": 0, "times_zero": "mul"})
    builder = loop(FORWARD, constant, STEP)
    builder.facts(training={"asked": {"beta": 0.0}})
    reason = reason_of(builder.run, Missing(False, [LOW], []))
    assert str(reason.places[0]) == "config beta"
    assert "beta is 0" in reason.cause


def test_a_gradient_that_is_zero_where_the_loss_hands_it_over():
    zero = loop(count=8, values={"output_grad": 0.0})
    assert kind(zero, [LOW], none=False) == "zero-at-loss"
    assert kind(zero, [LOW], [HIGH], none=False) == "unknown"
    few = loop(count=7, values={"output_grad": 0.0})
    assert kind(few, [LOW], none=False) == "unknown"
    zero.step(values={"output_grad": 1e-9})
    assert kind(zero, [LOW], none=False) == "unknown"
    grouped = loop(count=8, values={"output_grad": 0.0})
    grouped.facts(training={"trainer_class": "GRPOTrainer"})
    reason = reason_of(grouped.run, Missing(False, [LOW], []))
    assert "frac_reward_zero_std" in reason.fix
