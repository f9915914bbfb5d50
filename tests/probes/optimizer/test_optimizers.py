"""Which optimizer is ours, whoever wraps it."""

import pytest
import torch
from accelerate import Accelerator

from tests.models import update
from tests.probes.recording import Recording


def loop():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def test_an_optimizer_is_adopted_at_its_first_step():
    model, optimizer = loop()
    with Recording(model) as recording:
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    assert recording.subject.optimizers == (optimizer,)
    assert {each.meta["group"] for each in recording.names.values()} == {0}


def test_an_optimizer_of_another_model_is_not_adopted():
    model, _ = loop()
    other, others = loop()
    with Recording(model) as recording:
        update(other(torch.ones(2, 4)).sum(), others)
    assert recording.subject.optimizers == ()
    assert recording.steps == []


def test_one_that_was_handed_over_counts_even_when_it_holds_nothing_of_ours():
    model, _ = loop()
    _other, stale = loop()
    with Recording(model, stale) as recording:
        model(torch.ones(2, 4)).sum().backward()
        stale.step()
    assert len(recording.steps) == 1
    assert {each.meta["group"] for each in recording.names.values()} == {-1}


def test_accelerate_s_wrapper_is_looked_through():
    model, optimizer = loop()
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    wrapped = accelerator.prepare(optimizer)
    with Recording(model, wrapped) as recording:
        for _ in range(2):
            with accelerator.accumulate(model):
                update(model(torch.ones(2, 4)).sum(), wrapped)
    assert recording.subject.optimizers == (optimizer,)
    micro = ["forward", "backward"]
    assert recording.ops(0) == [*micro, *micro, "step", "zero_grad"]


def test_rates_come_from_every_group_also_where_they_are_tensors():
    model, _ = loop()
    groups = [
        {"params": [model.weight], "lr": torch.tensor(0.25)},
        {"params": [model.bias], "lr": 0.5},
    ]
    optimizer = torch.optim.AdamW(groups, foreach=False)
    with Recording(model, optimizer) as recording:
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    assert recording.steps[0].lr == pytest.approx((0.25, 0.5))


def test_a_group_added_later_is_part_of_the_names():
    model, _ = loop()
    optimizer = torch.optim.SGD([model.weight], lr=0.1)
    with Recording(model, optimizer) as recording:
        for _ in range(2):
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            if len(optimizer.param_groups) == 1:
                optimizer.add_param_group({"params": [model.bias], "lr": 0.2})
    groups = {each.name: each.meta["group"] for each in recording.names.values()}
    assert groups == {"weight": 0, "bias": 1}
    assert [step.lr for step in recording.steps] == [(0.1,), (0.1, 0.2)]
