"""One step, compiled and eager."""

import pytest
import torch
from torch.nn.functional import silu

import ftlab
from ftlab.executions.compiled import compiled
from ftlab.faults.builders.heads import head
from tests.experiments.set_ups import (
    after,
    around,
    gpt2,
    llama,
    lora,
    masked_lm,
    named,
    padded,
    tried,
)
from tests.session.scenarios import compiled as compiled_loop, feed, trainer

MLP = "model.layers.1.mlp"


def quick(model, backend="aot_eager", **options):
    return torch.compile(model, backend=backend, options=options or None)


@pytest.fixture(autouse=True)
def _anew():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def checkpointed():
    model = llama().train()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return model


def with_batch_norm():
    norm = torch.nn.BatchNorm1d(64)
    return around(
        llama(), MLP, after(lambda h: norm(h.flatten(0, 1)).view_as(h))
    ).train()


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: lora(lora_dropout=0.3).train(),
        lambda: gpt2().train(),
        lambda: llama(attention_dropout=0.5).bfloat16(),
        checkpointed,
        with_batch_norm,
    ],
    ids=["lora", "gpt2", "bf16", "checkpointed", "norm"],
)
def test_a_compiled_copy_gives_what_the_model_gives(make):
    model, dice = make(), torch.get_rng_state()
    found = compiled(model, padded(), backend="aot_eager")
    assert found.equal, found.born
    assert any(row.kind == "weight" for row in found.rows)
    assert torch.equal(torch.get_rng_state(), dice)


@pytest.mark.slow
def test_a_compiled_loop_trains_on_as_if_nothing_had_been():
    def losses(look):
        torch.compiler.reset()
        loop = compiled_loop()
        made = [loop.step(batch).item() for batch in feed()[:2]]
        if look:
            assert compiled(loop.model, feed()[2], backend="aot_eager").equal
            model = torch.compile(loop.model, backend="aot_eager")
            found = tried("compiled", model, feed()[2], optimizer=loop.optimizer)
            assert found.state == "holds"
        with torch.compiler.set_stance("fail_on_recompile"):
            return made + [loop.step(batch).item() for batch in feed()[2:]]

    assert losses(True) == losses(False)


@pytest.mark.slow
@pytest.mark.parametrize("model", [llama, lambda: masked_lm()[0]])
def test_what_inductor_makes_differs_by_rounding_alone(model):
    found = ftlab.diff(model(), padded(), between="compile")
    assert found.equal
    assert 0 < found.differences.outcome < 5


@pytest.mark.slow
def test_compiled_models_hold():
    for model in (quick(llama()), quick(lora(lora_dropout=0.5).train())):
        outcome = tried("compiled", model, padded())
        assert outcome.state == "holds", outcome.says
    inside = llama()
    inside.model.layers[0].compile(backend="aot_eager")
    assert tried("compiled", inside, padded()).state == "holds"


@pytest.mark.slow
def test_a_trainer_that_is_about_to_compile_is_tried():
    each = trainer(torch_compile=True, torch_compile_backend="aot_eager")
    (outcome,) = ftlab.prove(each, only="compiled")
    assert outcome.state == "holds", outcome.says


@pytest.mark.slow
def test_it_does_not_apply_to_models_that_are_not_compiled_or_draw():
    outcome = tried("compiled", llama(), padded())
    assert outcome.state == "does not apply"
    assert outcome.says.startswith("the model is not compiled; ftlab.diff(")
    noisy = around(llama(), MLP, after(lambda h: h + torch.randn_like(h)))
    outcome = tried("compiled", quick(noisy), padded())
    assert outcome.says == "the model draws random numbers that are no dropout"


def asks_whether_it_is_compiled():
    def change(h):
        return h * 0.9 if torch.compiler.is_compiling() else h

    return quick(around(llama(), MLP, after(change)))


class Asks(torch.autograd.Function):
    @staticmethod
    def forward(_ctx, h):
        return h.clone()

    @staticmethod
    def backward(_ctx, gradient):
        return gradient * 2 if torch.compiler.is_compiling() else gradient


def asks_in_backward():
    return quick(around(llama(), MLP, after(Asks.apply)))


def rewrites(graph, _inputs):
    """Replace an activation by another, as a pass over the graph may."""
    for node in graph.graph.nodes:
        if node.target is silu:
            node.target = torch.nn.functional.gelu
    graph.recompile()
    return graph.forward


def graph_is_rewritten():
    return quick(llama(), rewrites)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "place", "tensor"),
    [
        (asks_whether_it_is_compiled, MLP, "what it returns"),
        (asks_in_backward, MLP, "gradient"),
        (graph_is_rewritten, "model.layers.0.mlp.act_fn", "what it returns"),
    ],
)
def test_code_that_runs_otherwise_is_named(make, place, tensor):
    outcome = tried("compiled", make(), padded())
    assert named(outcome) == [place]
    assert tensor in outcome.says
    assert outcome.says.startswith("eager and compiled part at ")


UNGUARDED = {"guard_filter_fn": torch.compiler.skip_guard_on_all_nn_modules_unsafe}


def factor_changed_behind_the_graph():
    model = llama()
    layer = around(model, MLP, lambda inner, h: inner(h) * inner.factor)
    inner = layer.get_submodule(MLP).inner
    inner.factor = 1.0
    made = torch.compile(
        model,
        backend="aot_eager",
        options={"guard_filter_fn": lambda g: [False] * len(g)},
    )
    made(**padded())
    inner.factor = 0.5
    return made


def unfrozen_behind_the_graph():
    model = llama().requires_grad_(False)
    head(model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("lm_head" in name)
    made = torch.compile(model, backend="aot_eager", options=UNGUARDED)
    made(**padded())
    model.requires_grad_(True)
    return made


def hooked_behind_the_graph():
    model = llama()
    made = quick(model)
    made(**padded())
    model.get_submodule(MLP).register_forward_hook(lambda _m, _a, out: out * 0.5)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        factor_changed_behind_the_graph,
        unfrozen_behind_the_graph,
        hooked_behind_the_graph,
    ],
)
def test_a_graph_that_is_out_of_date_is_told(make):
    model = make()
    outcome = tried("compiled", model, padded())
    assert named(outcome)
    assert "reset()" in outcome.fix
    torch.compiler.reset()
    assert tried("compiled", model, padded()).state == "holds"
