"""The watched set: what it names, and how it follows what happens to the model."""

import sys

import pytest
import torch

from ftlab.faults.builders.tiny import trainable
from ftlab.probes.watched import WALK_INTERVAL
from tests.models import batches, tiny_llama, tiny_lora, update
from tests.probes.recording import Recording, true_norms


def small():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))


def train(model, optimizer, count=1):
    for _ in range(count):
        update(model(torch.ones(2, 4)).sum(), optimizer)


def test_names_carry_what_views_and_rules_need():
    model = tiny_lora()
    with Recording(model) as recording:
        pass
    record = next(iter(recording.names.values()))
    assert record.name.endswith("layers.0.self_attn.q_proj.lora_A.default.weight")
    assert (record.table, record.kind, record.layer) == ("tensors", "param", "layers.0")
    assert (record.shape, record.dtype, record.trainable) == ((4, 64), "float32", True)
    assert record.meta["role"] == "lora_A"
    assert record.meta["adapter"] == "default"
    assert record.meta["group"] == -1
    assert len(recording.names) == 12


def test_a_frozen_parameter_leaves_and_an_unfrozen_one_comes_back():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        train(model, optimizer)
        model[0].weight.requires_grad_(False)
        train(model, optimizer)
        assert recording.names  # delivered with the step before
        model[0].weight.requires_grad_(True)
        train(model, optimizer)
    assert set(recording.column(0)) == {"0.weight", "0.bias", "1.weight", "1.bias"}
    assert set(recording.column(1)) == {"0.bias", "1.weight", "1.bias"}
    assert recording.column(2).keys() == recording.column(0).keys()
    told = [
        (each.trainable, each.since_step)
        for each in recording.records
        if getattr(each, "name", "") == "0.weight"
    ]
    assert told == [(True, 0), (False, 1), (True, 2)]


def test_an_adapter_that_is_added_later_is_seen_in_its_first_step():
    from peft import LoraConfig

    model = tiny_lora()
    model.add_adapter("second", LoraConfig(r=2, target_modules=["q_proj"]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        model(**next(batches(1))).loss.backward()
        optimizer.step()
        model.add_adapter("third", LoraConfig(r=2, target_modules=["k_proj"]))
        model.set_adapter("third")
        optimizer = torch.optim.SGD(trainable(model), lr=0.1)
        model(**next(batches(1))).loss.backward()
        expected = true_norms(model)
        optimizer.step()
    late = {name: value for name, value in expected.items() if "third" in name}
    assert recording.column(1) == pytest.approx(late, rel=1e-5)
    tensors = [each for each in recording.names.values() if each.table == "tensors"]
    assert {each.meta["adapter"] for each in tensors} == {"default", "third"}


def test_a_parameter_that_a_module_gets_is_seen_in_its_first_step():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        train(model, optimizer)
        model[0].register_parameter("extra", torch.nn.Parameter(torch.ones(1)))
        train(model, optimizer)
    assert "0.extra" not in recording.column(0)
    assert "0.extra" in recording.column(1)


def test_a_parameter_put_in_past_torch_s_hook_is_found_at_the_next_walk():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        train(model, optimizer)
        extra = torch.nn.Parameter(torch.ones(1))
        model[0]._parameters["extra"] = extra
        train(model, optimizer, count=WALK_INTERVAL + 1)
    assert "0.extra" in recording.column(WALK_INTERVAL)


def test_tied_weights_are_one_row():
    model = tiny_llama(tie_word_embeddings=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        model(**next(batches(1))).loss.backward()
        optimizer.step()
    (tied,) = [each for each in recording.names.values() if each.meta["aliases"]]
    assert tied.name == "model.embed_tokens.weight"
    assert tied.meta["aliases"] == "lm_head.weight"
    assert "lm_head.weight" not in recording.column(0)


def test_wrappers_leave_no_trace_in_names(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # torch replaces it
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    try:
        model = small()
        wrapped = torch.nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
        with Recording(wrapped, optimizer) as recording:
            wrapped(torch.ones(2, 4)).sum().backward()
            expected = true_norms(model)
            optimizer.step()
        del wrapped
    finally:
        torch.distributed.destroy_process_group()
    assert recording.column(0) == pytest.approx(expected, rel=1e-5)
    assert recording.ops(0) == ["forward", "backward", "step"]


def test_a_parameter_of_a_step_may_have_no_gradient():
    model = small()
    unused = torch.nn.Parameter(torch.ones(3))
    model.register_parameter("unused", unused)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        model(torch.ones(2, 4)).sum().backward()
        expected = true_norms(model)
        optimizer.step()
    has_grad = recording.column(0, "has_grad")
    assert has_grad["unused"] == 0.0
    assert sum(has_grad.values()) == 4.0
    found = {n: v for n, v in recording.column(0).items() if has_grad[n]}
    assert found == pytest.approx(expected, rel=1e-5)


def test_sparse_and_mixed_gradients_take_the_safe_path():
    torch.manual_seed(0)
    embedding = torch.nn.Embedding(10, 4, sparse=True)
    half = torch.nn.Linear(4, 2, dtype=torch.bfloat16)
    model = torch.nn.ModuleList([embedding, half])
    optimizers = [
        torch.optim.SparseAdam(embedding.parameters()),
        torch.optim.SGD(half.parameters(), lr=0.1),
    ]
    with Recording(model, *optimizers) as recording:
        for _ in range(2):
            output = half(embedding(torch.tensor([1, 1, 3])).bfloat16())
            output.sum().backward()
            expected = true_norms(model)
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
    assert len(recording.steps) == 2
    assert recording.column(1) == pytest.approx(expected, rel=1e-2)


def test_an_offloaded_parameter_is_named_as_such():
    model = small()
    model[1].to("meta")
    with Recording(model) as recording:
        pass
    names = recording.names.values()
    assert [n.name for n in names if n.meta.get("offloaded")] == ["1.weight", "1.bias"]


def test_a_backward_of_what_was_thawed_for_it_is_heard():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        for _ in range(10):
            optimizer.zero_grad()
            for learns in (0, 1):
                for index, layer in enumerate(model):
                    layer.requires_grad_(index == learns)
                model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
    assert [each.micro_batches for each in recording.steps] == [2] * 10
