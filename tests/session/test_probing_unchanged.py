"""A probe of the user's own changes nothing, bit for bit."""

import contextlib
import functools
import random

import numpy as np
import pytest
import torch

import ftlab
from ftlab.records.errors import FtlabWarning
from tests.session.probing import ATTENTION, norm, together
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


def greedy(tensor):
    """Draw from every generator, and multiply by a weight under autocast."""
    random.random(), np.random.rand(), np.random.randn()
    return torch.rand(()) + tensor.mean() + torch.nn.functional.dropout(tensor).sum()


def unwatched(loop):
    return contextlib.nullcontext()


def _as_trained(inputs, weight):
    """Let autocast cast the weight, where there is autocast: it must not keep that."""
    if not torch.is_autocast_enabled("cpu"):
        inputs = inputs.to(weight.dtype)
    return torch.nn.functional.linear(inputs, weight)


def probe_everything(watch, model):
    weight = next(
        p
        for name, p in model.named_parameters()
        if "v_proj" in name and p.requires_grad
    )
    watch.probe(ATTENTION, greedy, priority=1)
    watch.probe("v_proj.pre", lambda x: (x @ weight.T.to(x.dtype)).sum())
    watch.probe("v_proj.pre", lambda x: _as_trained(x, weight).sum())
    watch.probe("mlp.grad", greedy)
    watch.probe("v_proj*weight.grad", greedy)
    for moment in ("batch", "gradients", "update.pre", "update.post"):
        watch.probe(moment, lambda found: greedy(next(iter(found.values())).float()))
    return watch.probes


@contextlib.contextmanager
def probing(loop, folder, **settings):
    with ftlab.watch(
        loop.model,
        loop.optimizer,
        scaler=loop.scaler,
        run_dir=folder / "run",
        highest_losses=3,
    ) as watch:
        handles = probe_everything(watch, loop.model)
        yield watch
        assert [each.error for each in handles] == [""] * len(handles)
    if not watch.run.steps["skipped"].all():
        for each in handles:
            assert len(each.values), each


def train(make, around):
    seed()
    loop = make()
    seed()
    with around(loop):
        losses = [loop.step(batch).item() for batch in feed()]
    return state_of(loop.model, loop.optimizer, losses)


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_with_greedy_probes_is_bit_equal(name, tmp_path):
    bare = train(LOOPS[name], unwatched)
    assert train(LOOPS[name], lambda loop: probing(loop, tmp_path)) == bare


@pytest.mark.parametrize("name", TRAINERS)
def test_a_trainer_with_greedy_probes_is_bit_equal(name, tmp_path):
    def run(watched):
        seed()
        built = trainer(**TRAINERS[name])
        seed()
        with (
            ftlab.watch(built, run_dir=tmp_path / "run", highest_losses=3)
            if watched
            else (contextlib.nullcontext()) as watch
        ):
            handles = probe_everything(watch, built.model) if watched else ()
            built.train()
            for each in handles:
                assert not each.error
                assert len(each.values) == built.state.max_steps
        losses = [row["loss"] for row in built.state.log_history if "loss" in row]
        return state_of(built.model, built.optimizer, losses)

    assert run(watched=True) == run(watched=False)


def test_an_sft_trainer_with_greedy_probes_is_bit_equal(tmp_path):
    def run(watched):
        built = sft_trainer()
        seed()
        with (
            ftlab.watch(built, run_dir=tmp_path / "run", highest_losses=3)
            if watched
            else (contextlib.nullcontext()) as watch
        ):
            if watched:
                probe_everything(watch, built.model)
            built.train()
            if watched:
                assert not any(each.error for each in watch.probes)
        losses = [row["loss"] for row in built.state.log_history if "loss" in row]
        return state_of(built.model, built.optimizer, losses)

    assert run(watched=True) == run(watched=False)


@pytest.mark.slow
def test_a_compiled_model_is_left_alone_and_that_is_said(tmp_path):
    make = functools.partial(compiled, "aot_eager")
    bare = train(make, unwatched)

    @contextlib.contextmanager
    def around(loop):
        with ftlab.watch(loop.model, loop.optimizer, run_dir=tmp_path / "run") as watch:
            inside = watch.probe(ATTENTION, norm)
            total = watch.probe("gradients", together)
            yield
        assert len(inside.values) == 0
        expected = watch.run.steps["grad_norm"]
        assert total.values["gradients"].to_numpy() == pytest.approx(expected, rel=1e-4)

    with pytest.warns(FtlabWarning, match="see nothing where it is compiled") as told:
        assert train(make, around) == bare
    assert [each.category for each in told].count(FtlabWarning) == 1


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, inputs):
        return self.inner(inputs).relu()


def test_a_layer_that_is_compiled_gets_no_hooks(tmp_path):
    model = torch.nn.Sequential(Layer(), Layer())
    torch._dynamo.reset()
    model[0].compile(backend="aot_eager", fullgraph=True)
    hooks = []
    model[1].inner.register_forward_hook(
        lambda *_: hooks.append([len(each.inner._forward_hooks) for each in model])
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        handle = watch.probe("inner.post", norm)
        with pytest.warns(FtlabWarning, match="compiled"):
            model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    assert list(handle.values) == ["1.inner.post"]
    ((compiled, plain),) = hooks
    assert compiled == 0
    assert plain > 1
