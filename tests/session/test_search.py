"""Finding what trains among the variables of running code."""

import gc
import inspect
import weakref

import torch

from ftlab.session import search


def model_and_optimizer():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def test_finds_the_locals_of_a_calling_function():
    def train():
        model, optimizer = model_and_optimizer()
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        found = look(model)
        return model, optimizer, scheduler, found

    def look(module):
        return search.find_loop(search.frame_objects(inspect.currentframe()), module)

    model, optimizer, scheduler, loop = train()
    assert loop.model is model
    assert loop.optimizers == [optimizer]
    assert loop.schedulers == [scheduler]


def test_what_several_frames_hold_counts_once():
    model, optimizer = model_and_optimizer()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

    def step(model, optimizer, scheduler):
        return search.find_loop(search.frame_objects(inspect.currentframe()), model)

    loop = step(model, optimizer, scheduler)
    assert loop.optimizers == [optimizer]
    assert loop.schedulers == [scheduler]


def test_finds_the_attributes_of_self_and_the_items_of_containers():
    class Runner:
        def __init__(self):
            self.model, self.optimizer = model_and_optimizer()

        def go(self):
            return search.frame_objects(inspect.currentframe())

    runner = Runner()
    loop = search.find_loop(runner.go(), runner.model)
    assert loop.optimizers == [runner.optimizer]
    model, optimizer = model_and_optimizer()
    objects = search.objects({"parts": {"net": model, "optim": optimizer}})
    assert search.find_loop(objects).optimizers == [optimizer]


def test_prefers_the_outermost_module_that_holds_what_is_trained():
    model, optimizer = model_and_optimizer()
    whole = torch.nn.ModuleDict({"net": model, "frozen": torch.nn.Linear(2, 2)})
    loop = search.find_loop([model, optimizer, whole], model)
    assert loop.model is whole


def test_a_module_that_does_not_hold_the_called_one_is_no_candidate():
    model, optimizer = model_and_optimizer()  # larger than the one that is called
    other = torch.nn.Linear(2, 1)
    other_optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    found = [model, optimizer, other, other_optimizer]
    assert search.find_loop(found, other).model is other
    assert search.find_loop(found, other).optimizers == [other_optimizer]


def test_no_optimizer_means_no_loop():
    model, _ = model_and_optimizer()
    _stranger, optimizer = model_and_optimizer()
    assert search.find_loop([model], model) is None
    assert search.find_loop([model, optimizer], model) is None


def test_several_optimizers_of_one_model_are_all_found():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    pair = [torch.optim.SGD(layer.parameters(), lr=0.1) for layer in model]
    assert search.find_loop([model, *pair], model).optimizers == pair


def test_an_optimizer_wrapped_by_accelerate_counts_once():
    from accelerate import Accelerator

    model, optimizer = model_and_optimizer()
    wrapped = Accelerator(cpu=True).prepare(optimizer)
    assert search.find_loop([model, wrapped, optimizer], model).optimizers == [
        optimizer
    ]


def test_looking_keeps_no_variable_alive():
    def train():
        batch = torch.zeros(3)
        gone = weakref.ref(batch)
        search.frame_objects(inspect.currentframe())
        del batch
        gc.collect()
        return gone() is None

    assert train()
