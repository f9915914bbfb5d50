"""Weights that are taken without a call of their module."""

import torch
from torch import nn

from ftlab.probes.graph.graph_flow import GraphFlow
from ftlab.probes.graph.weight_use import WeightUse
from tests.models import update
from tests.probes.recording import Recording


class Taking(nn.Module):
    """Takes the weight of its part in place of calling it, or leaves it alone."""

    def __init__(self, taken=True):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.part = nn.Sequential(nn.Linear(3, 3))
        self.part[0].weight.requires_grad_(False)
        self.taken = taken

    def forward(self, inputs):
        hidden = self.first(inputs)
        if self.taken:
            return nn.functional.linear(hidden, self.part[0].weight)
        return hidden


def used(model):
    use = WeightUse({"": frozenset(["part"])}, dict(model.named_modules()))
    use.see("", model(torch.ones(1, 3)))
    return use.used


def test_a_weight_that_was_taken_is_behind_the_output():
    assert used(Taking()) == {"part"}


def test_a_weight_that_nobody_took_is_not():
    assert used(Taking(taken=False)) == set()


def test_the_saved_tensors_of_others_are_not_unpacked():
    unpacked = []

    def unpack(tensor):
        unpacked.append(tensor)
        return tensor

    model = Taking()
    use = WeightUse({"": frozenset(["part"])}, dict(model.named_modules()))
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        output = model(torch.ones(1, 3))
    use.see("", output)
    assert not unpacked


def kinds(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[GraphFlow(16)]) as recording:
        for _ in range(steps):
            update(model(torch.ones(1, 3)).sum(), optimizer)
    names = recording.names.values()
    return [n.meta["kind"] for n in names if n.table == "unreached"][-1:]


def test_the_probe_looks_a_second_time_at_a_module_that_is_never_called():
    assert kinds(Taking(), 1) == ["not-called"]
    assert kinds(Taking(), 2) == ["weight-taken"]
    assert kinds(Taking(), 18) == ["weight-taken"]
    assert kinds(Taking(taken=False), 18) == ["not-called"]
