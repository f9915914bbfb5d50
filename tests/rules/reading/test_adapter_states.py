from ftlab.rules.reading.adapter_states import (
    adapter_tensors,
    calls_of,
    held_adapters,
    passes_of,
    states_of,
    tensors_in,
    updates_of,
)
from tests.runs import RunBuilder


def forward(state, *, graph=True):
    return ("forward", "model", {"grad_enabled": graph, **state})


def backward(state):
    return ("backward", "loss", state)


def test_a_state_names_its_layers_and_adapters():
    builder = RunBuilder()
    builder.state(disabled_layers="a,b", merged_layers="", active="x,y")
    (state,) = states_of(builder.run).values()
    assert state.disabled == ("a", "b")
    assert state.merged == ()
    assert state.active == {"x", "y"}


def test_a_pass_is_what_one_backward_follows():
    builder = RunBuilder()
    on, off = builder.state(), builder.state(disabled_layers="a,b")
    builder.step(ops=[forward(on), backward(on), forward(off), backward(on)])
    first, second = passes_of(builder.run)
    assert first.in_all("disabled") == []
    assert second.in_all("disabled") == ["a", "b"]


def test_a_layer_that_is_on_in_one_forward_of_the_pass_is_not_off():
    builder = RunBuilder()
    half, off = builder.state(disabled_layers="b"), builder.state(disabled_layers="a,b")
    both = [forward(half), forward(off)]
    builder.step(ops=[*both, backward(off), *reversed(both), backward(off)])
    assert [p.in_all("disabled") for p in passes_of(builder.run)] == [["b"], ["b"]]


def test_a_forward_without_a_graph_is_no_part_of_a_pass():
    builder = RunBuilder()
    on, off = builder.state(), builder.state(disabled_layers="a,b")
    builder.step(ops=[forward(off, graph=False), forward(on), backward(on)])
    builder.step(ops=[forward(on, graph=False), forward(off), backward(off)])
    first, second = passes_of(builder.run)
    assert first.in_all("disabled") == []
    assert second.in_all("disabled") == ["a", "b"]


def test_a_run_without_adapters_has_no_passes():
    assert passes_of(RunBuilder().step(ops=["forward", "backward"]).run) == []


def test_an_update_has_the_state_that_it_was_made_in():
    builder = RunBuilder()
    merged = builder.state(merged_layers="a")
    builder.step(ops=[("step", "optimizer 0", merged), ("step", "optimizer 1", {})])
    ((entry, state),) = updates_of(builder.run)
    assert entry.target == "optimizer 0"
    assert state.merged == ("a",)


def test_an_adapter_is_held_when_a_group_has_its_tensors():
    builder = RunBuilder()
    builder.lora("layers.0", "mine")
    builder.tensor("other.weight", meta={"adapter": "other", "group": -1})
    builder.tensor("base.weight")
    assert held_adapters(builder.run) == {"mine"}
    assert {name.meta["adapter"] for name in adapter_tensors(builder.run)} == {
        "mine",
        "other",
    }
    places = tensors_in(builder.run, ["model.layers.0.q"])
    assert [place.name.split(".")[4] for place in places] == ["lora_A", "lora_B"]


def test_the_latest_call_is_named_first_and_once():
    builder = RunBuilder()
    ops = [("merge", "adapters", {"call": c}) for c in ("merge", "merge_adapter")]
    builder.step(ops=[*ops, ("set_adapter", "adapters", {}), ops[0]])
    assert calls_of(builder.run, "merge") == ["merge", "merge_adapter"]
