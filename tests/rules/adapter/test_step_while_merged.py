"""ADP005."""

from ftlab.rules.adapter.step_while_merged import StepWhileMerged
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora


def report(builder):
    return Engine([StepWhileMerged()]).check(builder.run)


def stepping(ran, stepped):
    forward = ("forward", "model", {"grad_enabled": True, **ran})
    return [forward, ("backward", "loss", ran), ("step", "optimizer 0", stepped)]


def states():
    builder = RunBuilder()
    builder.lora("layers.0")
    merged = builder.state(
        merged_layers="model.layers.0.q", merged_adapters="default", layers=1
    )
    return builder, builder.state(layers=1), merged


def test_is_quiet_on_a_healthy_run():
    assert report(healthy_lora()).findings == ()


def test_a_step_between_merge_and_unmerge_is_named_by_the_base_weight():
    builder, on, merged = states()
    builder.step(ops=stepping(on, on)).step(ops=stepping(on, merged))
    (finding,) = report(builder).findings
    assert (finding.first_step, finding.last_step) == (1, 1)
    assert str(finding.place) == "param model.layers.0.q.base_layer.weight"
    assert "call optimizer.step" in map(str, finding.places)


def test_a_layer_that_was_merged_in_the_forward_too_does_not_change():
    builder, _, merged = states()
    builder.step(ops=stepping(merged, merged))
    assert report(builder).findings == ()


def test_an_adapter_that_no_optimizer_holds_may_be_merged():
    builder, on, _ = states()
    other = builder.state(merged_layers="a", merged_adapters="old")
    builder.step(ops=stepping(on, other))
    assert report(builder).findings == ()
