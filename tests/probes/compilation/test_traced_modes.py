"""Dropouts in graphs, and the modes of the modules that run them."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from ftlab.probes.compilation.traced_modes import TracedModes
from tests.models import update
from tests.probes.recording import Recording

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


class Part(nn.Module):
    """A dropout module, one that does nothing, and one that is a function."""

    def __init__(self, always=False):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.drop = nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.0))
        self.always = always

    def forward(self, inputs):
        hidden = self.drop(self.layer(inputs))
        return functional.dropout(hidden, 0.25, self.training or self.always)


class Model(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part
        self.last = nn.Linear(2, 1)

    def forward(self, inputs):
        return self.last(self.part(inputs))


def traced(part, training):
    return torch.jit.trace(part.train(training), torch.ones(1, 2), check_trace=False)


def loaded(part, training, tmp_path):
    torch.jit.save(traced(part, training), tmp_path / "part.pt")
    return torch.jit.load(tmp_path / "part.pt")


def by_fx(part, training):
    return torch.fx.symbolic_trace(part.train(training))


def scripted(part, training):
    return torch.jit.script(part.train(training))


def exported(part, training):
    program = torch.export.export(part.train(training), (torch.ones(1, 2),))
    return program.module()


def counts(part, modes):
    """Dropouts that are fixed in training, and in evaluation, of each step.

    ``modes``: in which mode each step is trained; ``None`` is an evaluation.
    """
    model = Model(part)
    model.unused = traced(Part(), training=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[TracedModes()]) as recording:
        for mode in modes:
            model.part.train(bool(mode))
            if mode is None:
                with torch.no_grad():
                    model(torch.ones(1, 2))
                continue
            update(model(torch.ones(1, 2)).sum(), optimizer)
    steps = range(sum(mode is not None for mode in modes))
    return [
        tuple(recording.column(step, name) for name in ("fixed_off", "fixed_on"))
        for step in steps
    ]


NOTHING = ({}, {})


@pytest.mark.parametrize("way", [traced, by_fx])
def test_what_was_traced_in_evaluation_mode_does_not_drop_in_training(way):
    off = 2.0 if way is traced else 1.0  # torch.fx leaves modules as they are
    assert counts(way(Part(), False), [True]) == [({"part": off}, {})]
    assert counts(way(Part(), False), [False]) == [NOTHING]
    assert counts(way(Part(), True), [True, True]) == [NOTHING] * 2


def test_what_was_traced_in_training_mode_drops_in_evaluation():
    part = traced(Part(), True)
    assert counts(part, [None, True]) == [({}, {"part": 1.0})]
    assert counts(part, [True, None]) == [({}, {"part": 1.0})]
    assert counts(traced(Part(), False), [False, None]) == [NOTHING]


def test_a_function_that_always_drops_does_so_on_purpose():
    part = traced(nn.Sequential(nn.Linear(2, 2), Part(always=True)), False)
    assert counts(part, [False, None]) == [NOTHING]


def test_a_graph_that_was_loaded_is_judged_by_its_mode_in_training(tmp_path):
    assert counts(loaded(Part(), False, tmp_path), [True]) == [({"part": 2.0}, {})]
    assert counts(loaded(Part(), True, tmp_path), [True, None]) == [NOTHING]


def test_scripts_and_exported_programs_are_left_alone():
    assert counts(scripted(Part(), False), [True, None]) == [NOTHING]
    part = exported(Part(), False)
    part.train = lambda _: None  # its own raises
    assert part.training
    assert counts(part, [True]) == [NOTHING]


def test_frozen_parts_are_left_alone():
    frozen = traced(Part().requires_grad_(False), False)
    assert counts(frozen, [True]) == [NOTHING]


def test_a_graph_is_followed_where_it_takes_the_place_of_another():
    model = Model(nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[TracedModes()]) as recording:
        for step in range(2):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            if not step:
                model.part = traced(Part(), False).train()
                optimizer.add_param_group({"params": list(model.part.parameters())})
        assert model.part._forward_pre_hooks
    assert recording.column(1, "fixed_off") == {"part": 2.0}
    assert not model.part._forward_pre_hooks


def test_a_script_of_the_model_can_be_made():
    model = Model(by_fx(Part(), False))
    with Recording(model, probes=[TracedModes()]):
        assert model.part._forward_pre_hooks
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.jit.script(nn.Linear(2, 2))
        assert not model.part._forward_pre_hooks
