"""What stays known of optimizers and schedulers that nobody keeps any more."""

import gc
import weakref

import pytest
import torch

from ftlab.probes.facts import read_facts
from ftlab.probes.optimizer.remains import GoneOptimizer, HeldWeakly, Met
from ftlab.probes.subject import Subject
from tests.models import tiny_lora
from tests.probes.recording import Recording


def adamw(parameters, **settings):
    return torch.optim.AdamW(parameters, **settings)


def gone(subject):
    gc.collect()
    (remains,) = subject.optimizers
    assert isinstance(remains, GoneOptimizer)
    return remains


def test_a_number_is_of_one_object_for_good():
    class Equal:
        def __eq__(self, other):
            return True

        __hash__ = None

    met, first, second = Met(), Equal(), Equal()
    assert (met.add(first, "first"), met.add(second, "second")) == (0, 1)
    assert (met.number(first), met.number(second), met.number(Equal())) == (0, 1, None)
    del first
    assert met.add(Equal(), "third") == 2
    assert met.now()[0] == "first"
    assert [number for number, _, _ in met.alive()] == [1]


def test_what_cannot_be_held_weakly_is_kept():
    class Slotted:
        __slots__ = ()

    met = Met()
    met.add(Slotted(), "remains")
    assert isinstance(met.now()[0], Slotted)


def test_groups_stay_as_they_were_last():
    model = torch.nn.Linear(2, 1)
    optimizer = adamw(
        [
            {"params": [model.weight], "lr": 0.5},
            {"params": [model.bias], "weight_decay": 0.25, "betas": (0.5, 0.75)},
        ],
        lr=0.125,
    )
    subject = Subject(model, [optimizer])
    before = read_facts(subject, 0).optimizers
    optimizer.load_state_dict(optimizer.state_dict())  # puts new groups in place
    optimizer.param_groups[0]["lr"] = 0.75
    optimizer.param_groups[0]["owner"] = model
    subject.follow_groups()
    del optimizer
    weight, bias = gone(subject).param_groups
    assert (weight["lr"], bias["lr"], bias["betas"]) == (0.75, 0.125, (0.5, 0.75))
    assert [id(each) for each in weight["params"]] == [id(model.weight)]
    (now,) = read_facts(subject, 1).optimizers
    before[0]["groups"][0]["lr"] = 0.75
    assert now == before[0]


def test_a_parameter_that_is_gone_is_known_by_shape_and_dtype():
    model, other = torch.nn.Linear(2, 1), torch.nn.Linear(3, 5, bias=False).half()
    optimizer = adamw([*model.parameters(), other.weight])
    subject = Subject(model, [optimizer])
    before, weight = read_facts(subject, 0).optimizers, weakref.ref(other.weight)
    assert before[0]["foreign"][0]["shape"] == [5, 3]
    del optimizer, other
    remains = gone(subject)
    assert weight() is None
    assert read_facts(subject, 1).optimizers == before
    first, again = (list(remains.param_groups[0]["params"]) for _ in range(2))
    assert first[2] is again[2]
    assert first[2].is_meta


def test_held_weakly_has_what_a_list_of_parameters_has():
    weights = [torch.ones(2), torch.ones(3)]
    held = HeldWeakly(weights)
    assert len(held) == 2
    assert weights[1] in held
    assert torch.ones(3) not in held
    assert all(a is b for a, b in zip(held, weights, strict=True))


def test_misfits_of_a_state_stay_known():
    model = torch.nn.Linear(2, 1)
    optimizer = adamw(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    model.weight.data = torch.ones(1, 3)
    subject = Subject(model, [optimizer])
    assert read_facts(subject, 0).optimizers[0]["misfits"] == ["weight"]
    del optimizer
    gone(subject)
    assert read_facts(subject, 1).optimizers[0]["misfits"] == ["weight"]


@pytest.mark.parametrize("handed", [True, False])
def test_a_schedule_stays_known(handed):
    model = torch.nn.Linear(2, 1)
    optimizer = adamw(model.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 7)
    given = [scheduler] if handed else []
    with Recording(model, optimizer, schedulers=given) as recording:
        if handed:
            read_facts(recording.subject, 0)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        scheduler.step()
        del scheduler
        given.clear()
        gc.collect()
        (facts,) = read_facts(recording.subject, 1).schedulers
    assert (facts["class"], facts["optimizer_index"]) == ("StepLR", 0)
    assert facts["asked"]["step_size"] == 7


def test_what_a_chain_holds_stays_known():
    model = torch.nn.Linear(2, 1)
    optimizer = adamw(model.parameters())
    first = torch.optim.lr_scheduler.StepLR(optimizer, 7)
    chain = torch.optim.lr_scheduler.ChainedScheduler([first], optimizer)
    with Recording(model, optimizer, schedulers=[first]) as recording:
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        chain.step()
        del chain
        gc.collect()
        _, facts = read_facts(recording.subject, 1).schedulers
    assert (facts["class"], facts["holds"]) == ("ChainedScheduler", [0])


def test_what_it_held_is_missing_in_no_optimizer():
    model = tiny_lora()
    first, second = (
        [p for n, p in model.named_parameters() if f"lora_{side}" in n] for side in "AB"
    )
    optimizers = [adamw(first), adamw(second)]
    subject = Subject(model, optimizers)
    del optimizers[0]
    gc.collect()
    facts = read_facts(subject, 0).optimizers
    assert facts[0]["missing"] == []
    assert [len(each["groups"][0]["names"]) for each in facts] == [
        len(first),
        len(second),
    ]


def test_a_scaler_stays_known():
    model = torch.nn.Linear(2, 1)
    scaler = torch.amp.GradScaler("cpu")
    subject = Subject(model, scaler=scaler)
    before = read_facts(subject, 0).training
    del scaler
    assert subject.scaler is None
    assert read_facts(subject, 1).training == before
    assert before["scaler_class"] == "GradScaler"


def test_rates_stay_at_their_places():
    model = torch.nn.Linear(2, 1)
    with Recording(model) as recording:
        for rate in (0.5, 0.25):
            model(torch.ones(1, 2)).sum().backward()
            torch.optim.SGD(model.parameters(), lr=rate).step()
    assert [step.lr for step in recording.steps] == [(0.5,), (0.5, 0.25)]
    groups = [each.meta["group"] for each in recording.names.values()]
    assert set(groups) == {1}


def test_one_at_the_address_of_another_one_has_a_number_of_its_own():
    model = torch.nn.Linear(2, 1)
    ids = set()
    with Recording(model) as recording:
        model(torch.ones(1, 2)).sum().backward()
        for _ in range(9):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
            ids.add(id(optimizer))
            optimizer.step()
            del optimizer
    assert len(ids) < 9
    assert len(recording.steps) == 1
    targets = [each.target for each in recording.ledger(0) if each.op == "step"]
    assert targets == [f"optimizer {number}" for number in range(9)]
