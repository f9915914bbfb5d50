"""What guards tell about hooks; the graphs are made by the eager backend."""

import pytest
import torch

from ftlab.probes.compilation.compiled_facts import compiled_facts, hooks_signature


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(2, 2)
        self.second = torch.nn.Linear(2, 2)

    def forward(self, inputs):
        return self.second(self.first(inputs))


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def louder(module, args, output):
    return output * 2


def test_a_model_that_is_not_compiled_has_nothing():
    model = Pair()
    model.first.register_forward_hook(louder)
    assert compiled_facts(model) == {}


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_only_a_hook_that_came_late_is_left_out(late, in_place):
    model = Pair()
    if in_place:
        model.compile(backend="eager")
        compiled = model
    else:
        compiled = torch.compile(model, backend="eager")
    if late:
        compiled(torch.ones(1, 2))
    model.first.register_forward_hook(louder)
    compiled(torch.ones(1, 2))
    wanted = {"first": "forward hook"} if late else {}
    assert compiled_facts(compiled)["ignored_hooks"] == wanted


def test_a_reset_brings_the_hook_in():
    model = Pair()
    compiled = torch.compile(model, backend="eager")
    compiled(torch.ones(1, 2))
    model.first.register_forward_hook(louder)
    torch._dynamo.reset()
    compiled(torch.ones(1, 2))
    assert compiled_facts(compiled)["ignored_hooks"] == {}


def test_the_signature_follows_hooks_at_every_sixteenth_call():
    model = Pair()
    first = hooks_signature(model)
    model.first.register_forward_hook(louder)
    assert {hooks_signature(model) for _ in range(15)} == {first}
    assert hooks_signature(model) != first


def test_graphs_of_another_model_of_the_class_are_not_this_ones():
    def build():
        return torch.nn.Sequential(torch.nn.Linear(2, 2))

    torch.compile(build(), backend="eager")(torch.ones(1, 2))
    other = build()
    other[0].register_forward_hook(lambda *_: None)
    assert compiled_facts(other) == {}


SKIPPING = {"guard_filter_fn": torch.compiler.skip_guard_on_all_nn_modules_unsafe}


@pytest.mark.parametrize(("options", "found"), [({}, []), (SKIPPING, ["model"])])
def test_a_graph_without_guards_on_its_module_is_told(options, found):
    torch._dynamo.reset()
    model = Pair()
    compiled = torch.compile(model, backend="eager", options=options)
    compiled(torch.ones(1, 2))
    assert compiled_facts(compiled)["unguarded"] == found
    assert compiled_facts(model).get("unguarded", []) == found


def test_guards_that_nobody_looks_at_are_as_good_as_none():
    torch._dynamo.reset()
    compiled = torch.compile(Pair(), backend="eager")
    compiled(torch.ones(1, 2))
    with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
        assert compiled_facts(compiled)["unguarded"] == ["model"]
    assert compiled_facts(compiled)["unguarded"] == []
