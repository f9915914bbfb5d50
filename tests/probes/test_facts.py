import json
import sys
import types

import pytest
import torch
from peft import LoraConfig

from ftlab.faults.builders.tiny import trainable
from ftlab.probes.facts import WALK_EVERY, facts_signature, read_facts
from ftlab.probes.subject import Subject
from tests.models import tiny_llama, tiny_lora


def subject_of(model, **settings):
    optimizer = torch.optim.AdamW(trainable(model))
    model.trained_by = optimizer  # whom the subject does not keep
    return Subject(model, [optimizer], **settings)


def test_reads_versions_of_what_is_installed():
    model = tiny_llama()
    versions = read_facts(subject_of(model), 0).versions
    assert versions["torch"] == torch.__version__
    assert {"python", "transformers", "peft", "numpy"} <= set(versions)


def test_is_what_json_can_hold():
    model = tiny_lora(use_dora=True)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer := torch.optim.AdamW(trainable(model)), lambda _: 1.0
    )
    subject = Subject(
        model,
        [optimizer],
        schedulers=[scheduler],
        training={"args": {"device": torch.device("cpu")}, "max_steps": 3},
    )
    facts = read_facts(subject, 7)
    assert facts.step == 7
    for part in ("versions", "model", "optimizers", "schedulers", "training"):
        json.dumps(getattr(facts, part), allow_nan=False)


def test_training_holds_what_the_trainer_told():
    model = tiny_llama()
    facts = read_facts(subject_of(model, training={"max_steps": 5}), 0)
    assert facts.training["max_steps"] == 5
    assert facts.training["scaler"] is False
    assert "tokenizer" not in facts.training
    scaler = torch.amp.GradScaler("cpu")
    assert read_facts(subject_of(model, scaler=scaler), 0).training["scaler"] is True
    told = subject_of(model, training={"scaler": True})
    assert read_facts(told, 0).training["scaler"] is True


def world_size():
    model = torch.nn.Linear(2, 1)
    return read_facts(subject_of(model), 0).training.get("world_size")


def test_processes_are_counted_as_torch_or_the_launcher_says(monkeypatch, tmp_path):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert world_size() == 1
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert world_size() == 4
    monkeypatch.setenv("WORLD_SIZE", "many")
    assert world_size() is None
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # torch sets its own
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        assert world_size() == 1
    finally:
        torch.distributed.destroy_process_group()


def test_processes_that_accelerate_alone_knows_of_count(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "1")
    state = types.SimpleNamespace(_shared_state={"num_processes": 4})
    module = types.SimpleNamespace(PartialState=state)
    monkeypatch.setitem(sys.modules, "accelerate.state", module)
    assert world_size() == 4
    state._shared_state.clear()
    assert world_size() == 1


def test_reads_the_special_tokens_of_a_tokenizer():
    class Tokenizer:
        pad_token_id = 0
        eos_token_id = 2
        padding_side = "right"

        @property
        def bos_token_id(self):
            message = "not set"
            raise AttributeError(message)

    model = tiny_llama()
    facts = read_facts(subject_of(model, tokenizer=Tokenizer()), 0)
    assert facts.training["tokenizer"] == {
        "class": "Tokenizer",
        "pad_token_id": 0,
        "eos_token_id": 2,
        "padding_side": "right",
    }


def test_a_strange_object_makes_a_fact_absent():
    class Strange:
        def __getattr__(self, name):
            message = "do not ask"
            raise RuntimeError(message)

    model = tiny_llama()
    subject = Subject(
        model,
        [Strange()],
        schedulers=[Strange()],
        scaler=Strange(),
        tokenizer=Strange(),
    )
    facts = read_facts(subject, 0)
    assert facts.model["class"] == "LlamaForCausalLM"
    assert "tokenizer" not in facts.training


def test_signature_stays_while_nothing_changes():
    model = tiny_lora()
    subject = subject_of(model)
    before = facts_signature(subject)
    for _ in range(WALK_EVERY + 2):
        subject.optimizers[0].param_groups[0]["lr"] *= 0.5
        assert facts_signature(subject) == before
    hash(before)


def freeze(model, subject):
    trainable(model)[0].requires_grad_(False)


def add_adapter(model, subject):
    model.add_adapter("late", LoraConfig(r=2, target_modules=["q_proj"]))


def switch_adapter(model, subject):
    model.add_adapter("late", LoraConfig(r=2, target_modules=["q_proj"]))
    model.set_adapter("late")


def add_group(model, subject):
    extra = torch.nn.Parameter(torch.zeros(2))
    subject.optimizers[0].add_param_group({"params": [extra]})


def add_optimizer(model, subject):
    model.also_trained_by = torch.optim.SGD(trainable(model))
    subject.add_optimizer(model.also_trained_by)


def add_scaler(model, subject):
    model.scaler = subject.scaler = torch.amp.GradScaler("cpu")


@pytest.mark.parametrize(
    "change",
    [freeze, add_adapter, switch_adapter, add_group, add_optimizer, add_scaler],
)
def test_signature_follows_a_change_at_once(change):
    model = tiny_lora()
    subject = subject_of(model)
    before = facts_signature(subject)
    change(model, subject)
    assert facts_signature(subject) != before


def test_signature_finds_a_new_parameter_at_the_next_walk():
    model = tiny_llama()
    subject = subject_of(model)
    before = facts_signature(subject)
    model.value_head = torch.nn.Linear(4, 1)
    assert any(facts_signature(subject) != before for _ in range(WALK_EVERY))


def test_signature_keeps_no_model_alive():
    import gc
    import weakref

    model = tiny_llama()
    subject = subject_of(model)
    facts_signature(subject)
    gone = weakref.ref(model.lm_head.weight)
    del model
    gc.collect()
    assert gone() is None


def test_signature_follows_another_shape_of_the_same_parameter():
    model = torch.nn.Linear(2, 2)
    subject = Subject(model)
    before = facts_signature(subject)
    model.weight.data = torch.ones(3, 2)
    assert facts_signature(subject) != before


def test_signature_walks_at_once_when_a_module_was_heard_to_get_a_parameter():
    model = torch.nn.Linear(2, 2)
    subject = Subject(model)
    before = facts_signature(subject)
    model.extra = torch.nn.Parameter(torch.ones(1))
    subject.registrations += 1
    assert facts_signature(subject) != before


def test_randomness_is_read_once_as_the_run_begins():
    model = torch.nn.Linear(2, 2)
    subject = Subject(model)
    torch.manual_seed(3)
    first = read_facts(subject, 0).training["randomness"]
    torch.manual_seed(4)
    assert first["torch_seed"] == 3
    assert read_facts(subject, 1).training["randomness"] == first
