"""Whether states are those of the parameters that they stand by."""

import copy

import pytest
import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, base, batches, lora, trainable
from ftlab.faults.fault import Case
from ftlab.probes.optimizer.optimizer_states import state_facts


def trained(steps=12, kind=torch.optim.AdamW, **settings):
    model = lora()
    optimizer = kind(trainable(model), **({"lr": 5e-3} | settings))
    Case(model, optimizer, batches(), plain_step(model, optimizer)).run(steps)
    return model, optimizer


def loaded(model, state, order=None, kind=torch.optim.AdamW):
    optimizer = kind(trainable(model) if order is None else order, lr=5e-3)
    optimizer.load_state_dict(copy.deepcopy(state))
    return optimizer


def by_layers(model):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    second = [p for n, p in named if ".layers.1." in n]
    return second + [p for n, p in named if ".layers.0." in n]


def test_its_own_states_fit():
    model, optimizer = trained()
    fits = state_facts(model, loaded(model, optimizer.state_dict()))
    assert fits == {"states": 8, "moved": 4, "empty": 0, "swapped": {}}


@pytest.mark.parametrize("steps", [1, 2, 5, 40, 150])
def test_a_run_fits_itself_at_any_time(steps):
    facts = state_facts(*trained(steps))
    assert facts["swapped"] == {}
    assert facts["empty"] == 0


def test_another_order_of_layers_is_seen():
    model, optimizer = trained()
    other = loaded(model, optimizer.state_dict(), by_layers(model))
    swapped = state_facts(model, other)["swapped"]
    assert swapped
    for one, another in swapped.items():
        assert one.replace(".0.", ".1.") == another.replace(".0.", ".1.")
        assert one != another


def test_so_it_is_with_plain_momentum():
    model, optimizer = trained(kind=torch.optim.SGD, lr=0.1, momentum=0.9)
    state = optimizer.state_dict()
    assert state_facts(model, optimizer)["swapped"] == {}
    other = loaded(model, state, by_layers(model), torch.optim.SGD)
    assert state_facts(model, other)["swapped"]


def test_other_shapes_are_counted():
    model, optimizer = trained()
    other = loaded(model, optimizer.state_dict(), trainable(model)[::-1])
    facts = state_facts(model, other)
    assert (facts["misshapen_count"], len(facts["misshapen"])) == (8, 8)


def test_other_libraries_keep_states_of_their_own_shapes():
    class Projected(torch.optim.SGD):
        """Keeps a part of each moment, as GaLore does."""

    Projected.__module__ = "elsewhere"
    model = lora()
    optimizer = Projected(trainable(model), lr=1e-2)
    for parameter in trainable(model):
        optimizer.state[parameter]["exp_avg"] = torch.zeros(2, 3)
    assert state_facts(model, optimizer) == {"states": 8}


def test_moments_of_weights_that_were_not_loaded():
    _, optimizer = trained()
    facts = state_facts(lora(), adamw(lora()))
    assert facts == {"states": 0}
    fresh = lora()
    facts = state_facts(fresh, loaded(fresh, optimizer.state_dict()))
    assert (facts["moved"], facts["empty"]) == (4, 4)


def in_full(steps, dtype=torch.float32, lr=1e-5):
    model = base().to(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    Case(model, optimizer, batches(), plain_step(model, optimizer)).run(steps)
    return model, optimizer


def test_norms_tell_whose_moments_these_are():
    model, optimizer = in_full(2)
    facts = state_facts(model, optimizer)
    assert (facts["norms"], facts["unmoved_count"]) == (5, 0)
    fresh = base()
    other = loaded(fresh, optimizer.state_dict(), fresh.parameters())
    facts = state_facts(fresh, other)
    assert (facts["norms"], facts["unmoved_count"]) == (5, 5)
    assert "model.norm.weight" in facts["unmoved"]


def test_norms_that_no_step_could_move_tell_nothing():
    assert "norms" not in state_facts(*in_full(2, torch.bfloat16))
    assert "norms" not in state_facts(*in_full(2, lr=1e-8))
    assert "norms" not in state_facts(*in_full(1))


def test_one_step_of_a_warm_up_from_zero_has_moved_nothing():
    model, optimizer = trained(1, lr=0.0)
    assert state_facts(model, optimizer)["moved"] == 0


def test_pruned_moments_prove_nothing():
    model, optimizer = trained()
    for parameter in trainable(model):
        optimizer.state[parameter]["exp_avg"].flatten()[1:] = 0
        parameter.data.zero_()
    assert state_facts(model, optimizer)["moved"] == 0


def test_names_that_a_state_brings_along_are_compared():
    model = lora()
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    first = torch.optim.AdamW(named, lr=1e-3)
    assert "misnamed" not in state_facts(model, first)
    second = torch.optim.AdamW(named[4:] + named[:4], lr=1e-3)
    second.load_state_dict(first.state_dict())
    misnamed = state_facts(model, second)["misnamed"]
    assert len(misnamed) == 8
    assert misnamed[named[4][0]] == named[0][0]


def test_names_of_the_users_own_say_nothing():
    model = lora()
    named = [(f"mine.{n}", p) for n, p in model.named_parameters() if p.requires_grad]
    facts = state_facts(model, torch.optim.AdamW(named, lr=1e-3))
    assert "misnamed" not in facts
