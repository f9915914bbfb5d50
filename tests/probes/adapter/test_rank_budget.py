import torch

from ftlab.faults.builders.methods import ranked
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.probes.adapter.rank_budget import METHOD, RankBudget
from tests.probes.moments_of import Bench, finished, values_of
from tests.probes.recording import Recording


def train(model, steps, call=None):
    optimizer = adamw(model, lr=5e-3)
    with Recording(model, optimizer, probes=[RankBudget()]) as recording:
        for step, batch in zip(range(steps), batches(steps), strict=True):
            model(**batch).loss.backward()
            optimizer.step()
            if call is not None:
                call(model, step)
            optimizer.zero_grad()
    return [each.values for each in recording.steps]


def test_the_step_that_the_allocator_is_told_is_noted():
    rows = train(ranked(40), 3, lambda m, s: m.base_model.update_and_allocate(10 * s))
    assert [row["allocator_step"] for row in rows] == [0.0, 10.0, 20.0]


def test_a_call_by_name_and_one_of_the_allocator_itself_are_heard():
    def call(model, step):
        tuner = model.base_model
        if step:
            tuner.rankallocator.update_and_allocate(tuner.model, global_step=5)
        else:
            tuner.update_and_allocate(global_step=4)

    rows = train(ranked(40), 2, call)
    assert [row["allocator_step"] for row in rows] == [4.0, 5.0]


def test_nothing_is_noted_without_a_call():
    assert all("allocator_step" not in row for row in train(ranked(40), 2))


def test_the_call_of_another_model_is_not_heard():
    other = ranked(40)
    other(**batches(1)[0]).loss.backward()
    rows = train(ranked(40), 2, lambda *_: other.base_model.update_and_allocate(7))
    assert all("allocator_step" not in row for row in rows)


def test_ranks_are_counted_by_their_singular_values():
    model = ranked(40)
    values = [p for n, p in model.named_parameters() if "lora_E" in n]
    with torch.no_grad():
        values[0][:3] = 1.0
    read = values_of(finished(RankBudget().on_gradients(Bench(model).moment())))
    assert read == {"ranks": sum(p.numel() for p in values), "ranks_kept": 3.0}


def test_a_model_without_adalora_costs_nothing():
    assert list(RankBudget().on_gradients(Bench(lora()).moment())) == []


def test_the_methods_are_as_they_were_afterwards():
    from peft.tuners.adalora.layer import RankAllocator
    from peft.tuners.adalora.model import AdaLoraModel

    before = [vars(owner)[METHOD] for owner in (AdaLoraModel, RankAllocator)]
    train(ranked(40), 1)
    assert [vars(owner)[METHOD] for owner in (AdaLoraModel, RankAllocator)] == before
