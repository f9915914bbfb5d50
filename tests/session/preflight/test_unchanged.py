"""Preflight changes nothing, bit for bit: what comes after it is what it would be."""

import copy
import random

import numpy as np
import pytest
import torch

import ftlab
from ftlab.session.preflight import looking
from tests.models import Rows, batches, tiny_lora
from tests.session.preflight.mixed import mixed_loop
from tests.session.scenarios import (
    LOOPS,
    TRAINERS,
    compiled,
    feed,
    seed,
    sft_trainer,
    state_of,
    trainer,
)


def weights(model):
    """Every parameter and buffer; state_dict() would corrupt 4-bit weights on a CPU."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: _bytes(tensor) for name, tensor in named}


def moments(optimizer):
    return [
        (name, _bytes(value) if torch.is_tensor(value) else value)
        for entry in optimizer.state.values()
        for name, value in entry.items()
    ]


def _bytes(tensor):
    flat = tensor.detach().contiguous().flatten()
    return flat.view(torch.uint8).numpy().tobytes()


def everything(model, optimizer, losses):
    """Like `state_of`, and without ``state_dict()``."""
    return {
        "losses": losses,
        "weights": weights(model),
        "gradients": [
            None if p.grad is None else _bytes(p.grad) for p in model.parameters()
        ],
        "flags": [p.requires_grad for p in model.parameters()],
        "modes": [module.training for module in model.modules()],
        "moments": moments(optimizer),
        "groups": [
            {k: v for k, v in group.items() if k != "params"}
            for group in optimizer.param_groups
        ],
        "torch": _bytes(torch.get_rng_state()),
        "python": random.getstate(),
        "numpy": [np.asarray(part).tolist() for part in np.random.get_state()],
    }


def train(name, check):
    """Two steps, what ``check`` does, and four steps more."""
    seed()
    loop = LOOPS[name]()
    seed()
    losses = [loop.step(batch).item() for batch in feed()[:2]]
    check(loop)
    losses += [loop.step(batch).item() for batch in feed()[2:]]
    scale = None if loop.scaler is None else loop.scaler.state_dict()
    return everything(loop.model, loop.optimizer, losses), scale


def nothing(_):
    """Leave everything alone, and put nothing back."""
    return ()


def flown(loop, **more):
    checklist = ftlab.preflight(
        loop.model,
        optimizer=loop.optimizer,
        scaler=loop.scaler,
        batches=list(batches(2, seed=9)),
        **more,
    )
    assert "numerics" not in {item.layer for item in checklist.failed}
    assert checklist["numerics"][-1].status == "passed", "no dry step was made"


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_goes_on_bit_equal(name):
    assert train(name, flown) == train(name, nothing)


@pytest.mark.parametrize("name", LOOPS)
def test_a_loops_own_step_may_be_tried(name):
    assert train(name, lambda loop: flown(loop, step=loop.step)) == train(name, nothing)


def test_a_second_try_under_autocast_leaves_nothing_behind():
    def run(check):
        seed()
        given, step = mixed_loop()
        if check:
            assert "only under autocast" in str(ftlab.preflight(**given))
            ftlab.preflight(**given, step=step)
        with torch.autocast("cpu", torch.bfloat16):
            losses = [step(batch).item() for batch in given["batches"]]
        return everything(given["model"], given["optimizer"], losses)

    assert run(check=True) == run(check=False)


@pytest.mark.slow
def test_a_compiled_model_goes_on_bit_equal():
    def run(check):
        seed()
        loop = compiled()
        losses = [loop.step(batch).item() for batch in feed()[:2]]
        check(loop)
        losses += [loop.step(batch).item() for batch in feed()[2:4]]
        return everything(loop.model, loop.optimizer, losses)

    assert run(lambda loop: flown(loop, step=loop.step)) == run(nothing)


def test_the_comparison_turns_red_when_nothing_is_put_back(monkeypatch):
    monkeypatch.setattr(looking.KeptState, "restore", nothing)
    assert train("dropout", flown) != train("dropout", nothing)


def test_every_object_stays_the_object_that_it_was():
    seed()
    loop = LOOPS["dropout"]()
    loop.step(feed()[0])
    parameters = [(id(p), id(p.grad), p.data_ptr()) for p in loop.model.parameters()]
    state = [id(v) for entry in loop.optimizer.state.values() for v in entry.values()]
    attributes = [copy.copy(vars(module)) for module in loop.model.modules()]
    flown(loop)
    assert parameters == [
        (id(p), id(p.grad), p.data_ptr()) for p in loop.model.parameters()
    ]
    assert state == [
        id(v) for entry in loop.optimizer.state.values() for v in entry.values()
    ]
    for before, module in zip(attributes, loop.model.modules(), strict=True):
        assert vars(module).keys() == before.keys()


@pytest.mark.parametrize("name", TRAINERS)
def test_a_trainer_trains_bit_equal(name):
    assert _trained(lambda: trainer(**TRAINERS[name]), True) == _trained(
        lambda: trainer(**TRAINERS[name]), False
    )


def test_a_trl_trainer_trains_bit_equal():
    assert _trained(sft_trainer, True) == _trained(sft_trainer, False)


def _trained(make, check):
    seed()
    each = make()
    seed()
    before = _traces(each)
    if check:
        ftlab.preflight(each)
        assert _traces(each) == before
    each.train()
    losses = [entry["loss"] for entry in each.state.log_history if "loss" in entry]
    norms = [entry["grad_norm"] for entry in each.state.log_history[:-1]]
    return state_of(each.model, each.optimizer, losses), norms


def _traces(each):
    """What making an optimizer or running a step would leave in a trainer."""
    accelerator = each.accelerator
    return (
        sorted(vars(each)),
        each.optimizer,
        each.lr_scheduler,
        each.state.global_step,
        each.state.num_input_tokens_seen,
        {k: v for k, v in vars(accelerator.gradient_state).items() if k != "plugin"},
        [len(vars(accelerator)[name]) for name in ("_models", "_optimizers")],
        [len(vars(accelerator)[name]) for name in ("_schedulers", "_dataloaders")],
        sorted(vars(each.model)),
        repr(getattr(each, "_metrics", None)),
        each.model.training,
    )


def test_a_trainer_that_has_trained_keeps_what_it_has():
    seed()
    each = trainer(max_steps=2)
    each.train()
    made = each.optimizer, each.lr_scheduler, moments(each.optimizer)
    rates = each.lr_scheduler.get_last_lr()
    history = copy.deepcopy(each.state.log_history)
    ftlab.preflight(each)
    assert (each.optimizer, each.lr_scheduler, moments(each.optimizer)) == made
    assert each.lr_scheduler.get_last_lr() == rates
    assert each.state.log_history == history


def test_accelerates_state_of_the_accumulation_stays():
    each = trainer()
    state = each.accelerator.gradient_state
    state._set_sync_gradients(False)
    ftlab.preflight(each)
    assert state.sync_gradients is False
    state._set_sync_gradients(True)  # all trainers of a process share it


def test_a_scheduler_and_its_rates_stay():
    model = tiny_lora()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    kinds = torch.optim.lr_scheduler
    scheduler = kinds.SequentialLR(
        optimizer,
        [kinds.ConstantLR(optimizer), kinds.CosineAnnealingLR(optimizer, 10)],
        milestones=[1],
    )
    before = scheduler.state_dict()
    ftlab.preflight(
        model, optimizer=optimizer, scheduler=scheduler, batches=list(batches(2))
    )
    assert scheduler.state_dict() == before
    assert "_opt_called" not in vars(optimizer)


def test_a_data_loader_and_its_generator_stay_where_they_are():
    generator = torch.Generator().manual_seed(3)
    loader = torch.utils.data.DataLoader(
        Rows(16), batch_size=4, shuffle=True, generator=generator
    )
    under_way = iter(loader)
    next(under_way)
    before = generator.get_state()
    ftlab.preflight(tiny_lora(), batches=loader)
    assert torch.equal(generator.get_state(), before)
    assert len(list(under_way)) == 3


def test_a_dataset_that_counts_keeps_its_count():
    class Counts(Rows):
        reads = 0

        def __getitem__(self, index):
            self.reads += 1
            return super().__getitem__(index)

    dataset = Counts(8)
    items = ftlab.preflight(tiny_lora(), dataset=dataset)["data"]
    assert {each.name: each.status for each in items}["a batch can be read"] == "passed"
    assert dataset.reads == 0


def test_a_batch_that_the_step_empties_is_full_again():
    model = tiny_lora()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = next(iter(batches(1)))
    names, ids = list(batch), batch["input_ids"].clone()

    def step(given):
        given["input_ids"].zero_()
        loss = model(**given).loss
        given.clear()
        loss.backward()
        optimizer.step()
        return loss

    ftlab.preflight(model, optimizer=optimizer, step=step, batch=batch)
    assert list(batch) == names
    assert torch.equal(batch["input_ids"], ids)


def test_frozen_weights_that_a_step_writes_to_are_put_back():
    model = tiny_lora()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = weights(model)

    def step(batch):
        model.merge_adapter()
        loss = model(**batch).loss
        loss.backward()
        return loss

    ftlab.preflight(
        model, optimizer=optimizer, step=step, batches=list(batches(2, seed=3))
    )
    assert weights(model) == before


def test_frozen_weights_too_large_to_keep_are_named(monkeypatch):
    from ftlab.session.preflight import kept

    monkeypatch.setattr(kept, "FROZEN_BYTES", 0)
    model = tiny_lora()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch):
        with torch.no_grad():
            model.get_input_embeddings().weight.add_(1)
        return model(**batch).loss

    with pytest.warns(ftlab.records.errors.FtlabWarning, match="embed_tokens.weight"):
        ftlab.preflight(model, optimizer=optimizer, step=step, batches=list(batches(1)))


def test_an_interrupted_dry_step_is_undone_too():
    model = tiny_lora()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    before = weights(model)

    def step(batch):
        model(**batch).loss.backward()
        optimizer.step()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ftlab.preflight(model, optimizer=optimizer, step=step, batches=list(batches(1)))
    assert weights(model) == before
    assert not optimizer.state
