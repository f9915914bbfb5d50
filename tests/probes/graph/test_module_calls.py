"""Which modules ran, and why a parameter got no gradient."""

import torch
from torch import nn

from ftlab.probes.graph.flow_calls import tensors_in
from ftlab.probes.graph.graph_flow import GraphFlow
from ftlab.probes.graph.module_calls import ModuleCalls, Swapped, Unreached
from tests.models import update
from tests.probes.recording import Recording


class Parts(nn.Module):
    """A list of two layers, and one beside it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(2, 2)) for _ in range(2))
        self.side = nn.Linear(2, 2)

    def forward(self, inputs):
        return self.layers[0](inputs)


def calls(*ended, began=()):
    made = ModuleCalls(dict(Parts().named_modules()))
    for path in began:
        made.began(path)
    for path, graph in ended:
        made.ended(path, tensors_in(torch.ones(1, requires_grad=graph)))
    return made


def explained(made, lost, reached=()):
    return dict(made.explain(lost, reached))


def test_a_module_that_was_not_called():
    found = explained(calls(began=[""]), ["side.weight"])
    assert found == {"side.weight": Unreached("side", "not-called", "model")}


def test_the_outermost_module_that_was_not_called_and_no_mere_list():
    found = explained(calls(began=[""]), ["layers.1.0.weight"])
    assert found["layers.1.0.weight"] == Unreached("layers.1", "not-called", "model")


def test_a_module_that_was_bypassed():
    found = explained(calls(("layers.0.0", True)), ["side.weight"])
    assert found["side.weight"] == Unreached("", "bypassed", "layers.0.0")


def test_nothing_was_called():
    found = explained(calls(), ["side.weight"])
    assert found["side.weight"] == Unreached("", "not-called", "")


def test_an_output_that_nobody_used():
    made = calls(("layers.0.0", True), ("layers.0", True), ("", True))
    found = explained(made, ["layers.0.0.weight"], ["side.weight"])
    assert found["layers.0.0.weight"] == Unreached("layers.0", "unused")


def test_a_module_with_another_parameter_that_was_reached_was_used():
    made = calls(("side", True), ("", True))
    assert explained(made, ["side.bias"], ["side.weight"]) == {}


def test_the_whole_model_was_not_used():
    made = calls(("layers.0.0", True), ("layers.0", True), ("", True))
    assert explained(made, ["layers.0.0.weight"])["layers.0.0.weight"].path == ""


def test_where_the_output_has_no_graph_the_calls_tell_nothing():
    assert explained(calls(("side", False)), ["side.weight"]) == {}


def test_others_in_the_place_of_parameters():
    model = nn.Linear(2, 2)
    own = list(model.named_parameters())
    other = {name: each.detach().clone() for name, each in own}
    held = frozenset([id(other["weight"])])
    swapped = Swapped({"": model}, own, held)
    model.register_forward_pre_hook(lambda *_: swapped.see(""))
    torch.func.functional_call(model, other, (torch.ones(1, 2),))
    assert swapped.names == {"weight"}


def test_parameters_in_their_place_are_not_swapped():
    model = nn.Linear(2, 2)
    swapped = Swapped({"": model}, model.named_parameters(), frozenset())
    swapped.see("")
    assert not swapped.names


def record(run, steps=3):
    model = Parts()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[GraphFlow(16)]) as recording:
        for _ in range(steps):
            update(run(model)(torch.ones(1, 2)).sum(), optimizer)
    return {
        name.name: (name.meta["kind"], name.meta["to"])
        for name in recording.names.values()
        if name.table == "unreached"
    }


def test_the_probe_names_the_modules_of_a_step():
    found = record(lambda model: model)
    assert found["side"] == ("not-called", "model")
    assert found["layers.1"] == ("not-called", "model")


def test_the_probe_looks_at_a_loop_that_never_calls_the_model():
    found = record(lambda model: model.layers[0])
    assert found == {"model": ("bypassed", "layers.0")}


def test_the_probe_takes_its_hooks_off_when_the_model_is_called_after_all():
    turns = iter([nn.Linear(2, 2), *[None] * 5])
    found = record(lambda model: next(turns) or model)
    assert "model" not in found
