"""How a run begins."""

import torch

from ftlab.faults.builders.saved import loaded, saved, taught
from ftlab.faults.builders.tiny import adamw, base, llama, lora
from ftlab.probes.adapter.start_facts import start_facts
from ftlab.probes.facts import read_facts
from ftlab.probes.subject import Subject


def test_a_fresh_adapter_is_zero_and_from_nowhere():
    model = lora()
    facts = start_facts(Subject(model))
    row = facts["adapters"]["default"]
    assert (row["pairs"], row["zero_b"], row["trainable"]) == (4, 4, True)
    assert (row["init"], row["saved_from"]) == ("True", "")
    assert set(row["scaling"].values()) == {2.0}
    assert facts["base_class"] == "LlamaForCausalLM"
    assert "file" not in facts


def test_a_pair_adds_nothing_whichever_factor_is_zero():
    model = taught(steps=2)
    assert start_facts(Subject(model))["adapters"]["default"]["zero_b"] == 0
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_A" in name:
                parameter.zero_()
    assert start_facts(Subject(model))["adapters"]["default"]["zero_b"] == 4


def test_a_loaded_adapter_is_frozen_and_names_its_class():
    path = saved(trained := taught(lora(task_type=None)))
    model = loaded(base(), path)
    row = start_facts(Subject(model))["adapters"]["default"]
    assert (row["zero_b"], row["trainable"]) == (0, False)
    assert row["saved_from"] == "LlamaForCausalLM"
    del trained


def test_optimizers_and_schedulers_tell_of_earlier_steps():
    model = taught()
    optimizer = adamw(model)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
    subject = Subject(model, [optimizer], schedulers=[schedule])
    facts = start_facts(subject)
    assert (facts["optimizer_states"], facts["last_epochs"]) == ([0], [0])
    for parameter in model.parameters():
        parameter.grad = (
            torch.zeros_like(parameter) if parameter.requires_grad else None
        )
    optimizer.step()
    schedule.step()
    later = start_facts(Subject(model, [optimizer], schedulers=[schedule]))
    assert (later["optimizer_states"], later["last_epochs"]) == ([8], [1])


def test_is_read_once_for_each_subject():
    model = lora()
    subject = Subject(model)
    first = start_facts(subject)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert start_facts(subject) is first
    assert start_facts(Subject(model)) != first


def test_keeps_what_another_run_knew_of_the_base():
    model, other = lora(), lora(llama(seed=7))
    before = read_facts(Subject(model), 0)
    facts = start_facts(Subject(other, trained_as=before))
    assert facts["trained_as"]["base"] == before.model["start"]["base"]
    assert facts["trained_as"]["peft"]["default"]["r"] == 8
    assert facts["base"] != facts["trained_as"]["base"]


def test_a_full_model_has_no_adapters():
    model = llama()
    assert start_facts(Subject(model)) == {}


def test_what_an_optimizer_was_made_with_outlives_what_is_loaded_into_it():
    model = lora()
    old, new = adamw(model, lr=3e-3), adamw(model, lr=1e-4)
    schedule = torch.optim.lr_scheduler.ConstantLR(old)
    new.load_state_dict(old.state_dict())
    found = start_facts(Subject(model, [new], schedulers=[schedule]))
    assert (found["made_with"], found["base_rates"]) == ([1e-4], [3e-3])


def test_tells_where_a_state_was_loaded_over_what_a_schedule_set():
    model = lora()
    old, new = adamw(model, lr=3e-3), adamw(model, lr=1e-4)
    schedule = torch.optim.lr_scheduler.ConstantLR(new, factor=0.5)
    before = start_facts(Subject(model, [new], schedulers=[schedule]))
    assert "overwritten_rates" not in before
    new.load_state_dict(old.state_dict())
    after = start_facts(Subject(model, [new], schedulers=[schedule]))
    assert after["overwritten_rates"] == [[3e-3, 5e-5]]
