"""What is added by hand to the weights under an adapter, and what PEFT adds."""

import contextlib

import pytest
import torch

from ftlab.faults.builders.hand_merges import adapted, product, put, right
from ftlab.faults.builders.tiny import adamw, base, batches, gpt2, llama, lora, neox
from ftlab.probes.merging.merge_by_hand import MergeByHand
from ftlab.records.step import Block
from tests.models import tiny_4bit
from tests.probes.recording import Recording


def watched(model, act=None, steps=4, after=None, lr=1e-2):
    """Train, act after each step and at the end; return rows by step and pair."""
    optimizer = adamw(model, lr=lr)
    with Recording(model, optimizer, probes=[MergeByHand()]) as recording:
        for step in range(steps):
            optimizer.zero_grad()
            model(**batches()[step]).loss.backward()
            optimizer.step()
            if act is not None:
                act(step)
        if after is not None:
            after(model)
    names = recording.names
    return {
        (block.step, names[row].name): {
            name: float(column[index]) for name, column in block.values.items()
        }
        for block in recording.records
        if isinstance(block, Block) and block.table == "hand_merges"
        for index, row in enumerate(block.ids.tolist())
    }


def autocast():
    stack = contextlib.ExitStack()
    stack.enter_context(torch.no_grad())
    stack.enter_context(torch.autocast("cpu", torch.bfloat16))
    return stack


def by_hand(delta=right, unload=True):
    def act(model):
        put(model, delta)
        if unload:
            model.unload()

    return act


def factors(found):
    return [each["factor"] for each in found.values()]


@pytest.mark.parametrize("build", [llama, gpt2, neox])
@pytest.mark.parametrize(("delta", "factor"), [(right, 1.0), (product, 0.5)])
def test_each_layer_tells_how_often_it_was_given_what_its_adapter_adds(
    build, delta, factor
):
    model = lora(build())
    count = len(list(adapted(model)))
    found = watched(model, after=by_hand(delta))
    assert factors(found) == pytest.approx([factor] * count, rel=1e-3)
    assert all(step == 3 for step, _ in found)
    assert all(each["off"] < 1e-2 and not each["live"] for each in found.values())


def test_the_factor_is_that_of_the_whole_weights():
    model = lora()
    layer = next(adapted(model))
    before = layer.get_base_layer().weight.detach().clone()
    found = watched(model, after=by_hand(lambda *given: 1.7 * right(*given), False))
    change = layer.get_base_layer().weight.detach() - before
    delta = right(layer, "default")
    slope = float((change * delta).sum() / delta.square().sum())
    assert factors(found)[0] == pytest.approx(slope, rel=1e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rounding_leaves_the_factor(dtype):
    found = watched(lora(base().to(dtype)), after=by_hand(product))
    assert factors(found) == pytest.approx([0.5] * len(found), rel=0.01)


def test_a_transposed_product_is_told():
    turn = by_hand(lambda *given: right(*given).T)
    found = watched(lora(target_modules=["q_proj"]), after=turn)
    assert len(found) == 2
    assert all(each["turned"] == 1 for each in found.values())
    assert factors(found) == pytest.approx([1, 1], rel=1e-3)


def test_an_embedding_and_a_new_parameter_are_compared_too():
    model = lora(target_modules=["embed_tokens"])

    def replace(model):
        for layer in adapted(model):
            inner = layer.get_base_layer()
            whole = inner.weight.detach() + product(layer, "default")
            inner.weight = torch.nn.Parameter(whole, requires_grad=False)

    assert factors(watched(model, after=replace)) == pytest.approx([0.5], rel=1e-3)


def test_what_peft_merges_is_no_merge_by_hand():
    model = lora()

    def cycle(step):
        model.merge_adapter()
        model.unmerge_adapter()

    assert watched(model, cycle, after=lambda model: model.merge_and_unload()) == {}


def test_what_peft_has_merged_counts():
    def again(model):
        layers = [
            (e.get_base_layer().weight, right(e, "default")) for e in adapted(model)
        ]
        model.merge_and_unload()
        for weight, delta in layers:
            weight.data += delta

    found = watched(lora(), after=again)
    assert factors(found) == pytest.approx([2.0] * 4, rel=1e-3)


def test_an_adapter_that_is_on_at_the_next_update_is_live():
    model = lora(target_modules=["q_proj"], layers_to_transform=[0])
    found = watched(model, lambda step: step == 1 and put(model))
    (((step, _), row),) = found.items()
    assert (step, row["live"]) == (2, 1)
    assert row["factor"] == pytest.approx(1, rel=1e-3)


def test_the_other_layers_are_seen_one_update_later():
    model = lora()
    found = watched(model, lambda step: step == 1 and put(model), lr=1e-3)
    assert [step for step, _ in found] == [2, 3, 3, 3]


def test_it_is_not_live_in_an_evaluation_with_the_adapter_off():
    model = lora(target_modules=["q_proj"], layers_to_transform=[0])

    @torch.no_grad()
    def evaluate(step):
        put(model)
        with model.disable_adapter():
            model(**batches()[0])
        put(model, sign=-1)

    found = watched(model, evaluate)
    assert [each["live"] for each in found.values()] == [0] * 4
    assert factors(found) == pytest.approx([1] * 4, rel=1e-3)


def test_it_is_live_in_an_evaluation_with_the_adapter_on():
    model = lora(target_modules=["q_proj"], layers_to_transform=[0])

    @torch.no_grad()
    def evaluate(step):
        put(model)
        model(**batches()[0])
        put(model, sign=-1)

    assert [each["live"] for each in watched(model, evaluate).values()] == [1] * 4


@pytest.mark.parametrize("way", [torch.no_grad, torch.inference_mode, autocast])
def test_ways_to_evaluate_do_not_matter(way):
    model = lora()

    def evaluate(step):
        with torch.no_grad():
            put(model, product)
        with way(), model.disable_adapter():
            model(**batches()[0])
        model.merge_adapter()
        model.unmerge_adapter()

    found = watched(model, evaluate, lr=1e-3, steps=2)
    assert [each["factor"] for (step, _), each in found.items() if step == 0] == [
        pytest.approx(0.5, rel=1e-3)
    ]
    assert len(found) == 5  # one in turn, then all


def test_an_unloaded_layer_that_somebody_holds_is_not_live():
    model = lora()
    held = list(adapted(model))

    @torch.no_grad()
    def export(model):
        put(model)
        inner = model.unload()
        inner(**batches()[0])

    found = watched(model, after=export)
    assert len(found) == len(held)
    assert not any(each["live"] for each in found.values())


def test_a_merge_that_is_taken_back_leaves_no_row():
    def back(model):
        put(model)
        put(model, sign=-1)

    assert watched(lora(), after=back) == {}


def test_two_adapters_that_are_merged_have_a_factor_each():
    model = lora()
    model.add_adapter("second", model.peft_config["default"])
    for layer in adapted(model):
        torch.nn.init.normal_(layer.lora_B["second"].weight, std=0.1)
    model.base_model.set_adapter(["default", "second"])
    found = watched(model, after=by_hand(unload=False))
    assert len(found) == 8
    assert factors(found) == pytest.approx([1.0] * 8, rel=1e-2)


@pytest.mark.parametrize("settings", [{"use_dora": True}, {"r": 8}])
def test_what_is_no_plain_sum_or_is_trained_is_left_out(settings):
    model = lora(**settings)
    if not settings.get("use_dora"):
        for layer in adapted(model):
            layer.get_base_layer().weight.requires_grad_(True)
    assert watched(model, after=by_hand(unload=False)) == {}


def test_four_bits_are_left_out(tmp_path):
    assert watched(lora(tiny_4bit(tmp_path)), after=lambda model: model.unload()) == {}


def test_an_adapter_that_begins_anew_explains_nothing():
    model = lora()

    def relora(step):
        if step == 1:
            put(model)
            for layer in adapted(model):
                layer.reset_lora_parameters("default", True)

    assert watched(model, relora) == {}


def test_it_changes_no_bit():
    one, other = lora(), lora()
    watched(one, lambda _: put(one))
    optimizer = adamw(other, lr=1e-2)
    for step in range(4):
        optimizer.zero_grad()
        other(**batches()[step]).loss.backward()
        optimizer.step()
        put(other)
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
