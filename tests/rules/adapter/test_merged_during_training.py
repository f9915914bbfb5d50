"""ADP004."""

from ftlab.rules.adapter.merged_during_training import MergedDuringTraining
from tests.runs import RunBuilder, only, reporter

report = reporter(MergedDuringTraining())


def passing(state):
    forward = ("forward", "model", {"grad_enabled": True, **state})
    return [forward, ("backward", "loss", state)]


def trained():
    builder = RunBuilder()
    builder.lora("layers.0")
    return builder


def test_names_the_layers_the_call_and_the_step():
    builder = trained()
    on = builder.state(layers=1)
    merged = builder.state(
        layers=1, merged_layers="model.layers.0.q", merged_adapters="default"
    )
    builder.step(ops=passing(on))
    builder.step(ops=[("merge", "adapters", {"call": "merge_adapter"})])
    builder.step(ops=passing(merged)).step(ops=passing(merged))
    finding = only(report(builder).findings, steps=(2, 3))
    places = [str(place) for place in finding.places]
    assert places[0] == "module model.layers.0.q"
    assert "call merge_adapter" in places
    assert "param model.layers.0.q.lora_A.default.weight" in places


def test_a_merge_without_a_training_forward_is_no_fault():
    builder = trained()
    merged = builder.state(merged_layers="model.layers.0.q")
    builder.step(ops=[("forward", "model", {"grad_enabled": False, **merged})])
    assert report(builder).findings == ()


def test_layers_that_are_gone_are_a_finding_of_their_own():
    builder = trained()
    on, gone = builder.state(layers=1), builder.state(layers=0, active="")
    builder.step(ops=passing(on))
    builder.step(ops=[("unload", "adapters", {"call": "merge_and_unload"})])
    builder.step(ops=passing(gone))
    only(report(builder).findings, place="call merge_and_unload", reason="unloaded")


def test_a_model_that_nobody_trains_may_be_merged():
    builder = RunBuilder()
    builder.tensor("head.weight")
    builder.step(ops=passing(builder.state(merged_layers="a")))
    assert report(builder).findings == ()


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


def test_a_step_between_merge_and_unmerge_is_named_by_the_base_weight():
    builder, on, merged = states()
    builder.step(ops=stepping(on, on)).step(ops=stepping(on, merged))
    finding = only(report(builder).findings, reason="stepped", steps=(1, 1))
    assert str(finding.place) == "param model.layers.0.q.base_layer.weight"
    assert "call optimizer.step" in map(str, finding.places)


def test_a_layer_that_was_merged_in_the_forward_too_does_not_change():
    builder, _, merged = states()
    builder.step(ops=stepping(merged, merged))
    only(report(builder).findings, reason="merged")


def test_an_adapter_that_no_optimizer_holds_may_be_merged():
    builder, on, _ = states()
    other = builder.state(merged_layers="a", merged_adapters="old")
    builder.step(ops=stepping(on, other))
    assert report(builder).findings == ()
