"""`ftlab.profile`: whose time it is, that it adds up, and that it ends by itself."""

import sys
import time

import pytest
import torch

import ftlab
from ftlab.records.errors import AttachError, BadValueError
from ftlab.views.steps.profile import nvidia_commands
from tests.models import batches, tiny_llama, tiny_lora, update
from tests.session.scenarios import LOOPS, feed, seed, state_of, trainer

NAP = 0.05
"""Long beside what a crowded machine adds to it."""
COLUMNS = ["forward", "backward", "elsewhere"]


def train(model, count, around=lambda _: None):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    for index, batch in enumerate(batches(count)):
        around(index)
        update(model(**batch).loss, optimizer)


def assert_adds_up(view):
    table = view.table()
    assert table[COLUMNS].sum().sum() == pytest.approx(view.summary.total, rel=1e-9)
    assert table["share"].sum() == pytest.approx(1, rel=1e-9)
    assert (table[COLUMNS] >= 0).all().all()


def test_parts_add_up_to_the_wall_time_of_the_steps():
    model, begun = tiny_lora(), []
    with ftlab.profile(model, steps=3, warmup=1) as profiled:
        train(model, 6, lambda _: begun.append(time.perf_counter()))
    assert profiled.summary.steps == 3
    assert_adds_up(profiled)
    wall = begun[4] - begun[1]  # a step ends where the next forward begins
    assert 0.3 * wall < profiled.summary.total < 1.1 * wall
    text = str(profiled)
    assert text.startswith("Profile: 3 steps, ")
    assert "by the clock" in text
    assert "layers.*.self_attn (2)" in text
    assert "base_model.model.model" not in text
    assert "base_model.model.model.layers.0.self_attn" in profiled.table().index
    assert profiled.figure().axes


class Slow(torch.autograd.Function):
    """Takes its time in forward or backward."""

    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.nap = backward
        time.sleep(forward)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(ctx.nap)
        return gradient, None, None


class Napping(torch.nn.Module):
    def __init__(self, forward, backward):
        super().__init__()
        self.naps = forward, backward
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return Slow.apply(x, *self.naps) * self.weight


class Stack(torch.nn.Module):
    def __init__(self, checkpointing=False):
        super().__init__()
        self.one, self.two = Napping(NAP, 0), Napping(0, NAP)
        self.checkpointing = checkpointing

    def forward(self, x):
        if self.checkpointing:
            call = torch.utils.checkpoint.checkpoint
            x = call(self.one, x, use_reentrant=self.checkpointing == "reentrant")
        else:
            x = self.one(x)
        return self.two(x)


def naps(checkpointing):
    model = Stack(checkpointing)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ftlab.profile(model, steps=2, warmup=0) as profiled:
        for _ in range(2):
            x = torch.ones(1, requires_grad=True)
            model(x).sum().backward()
            time.sleep(NAP / 2)
            optimizer.step()
    assert_adds_up(profiled)
    return profiled.table()[COLUMNS] / (2 * NAP)


def test_backward_counts_to_the_module_of_its_forward():
    table = naps(checkpointing=False)
    assert 1 <= table.loc["one", "forward"] < 1.9
    assert table.loc["one", "backward"] < 0.5
    assert table.loc["two", "forward"] < 0.5
    assert 1 <= table.loc["two", "backward"] < 1.9
    assert table.loc["other", "elsewhere"] >= 0.5


@pytest.mark.parametrize("kind", ["reentrant", "other"])
def test_what_is_computed_again_counts_to_backward(kind):
    table = naps(checkpointing=kind)
    assert 1 <= table.loc["one", "forward"] < 1.9
    assert 1 <= table.loc["one", "backward"] < 1.9


def test_fewer_steps_are_shown_and_said():
    model = tiny_llama()
    with ftlab.profile(model, steps=5, warmup=1) as profiled:
        assert str(profiled) == "Profile: 0 steps of the 5 asked for"
        train(model, 3)
    assert str(profiled).startswith("Profile: 2 steps of the 5 asked for, ")
    assert_adds_up(profiled)
    with ftlab.profile(model, warmup=4) as profiled:
        train(model, 2)
    assert str(profiled) == "Profile: 0 steps of the 3 asked for"
    assert len(profiled.table()) == 0
    assert profiled.figure()


def test_a_step_that_raises_is_not_counted():
    model = tiny_llama()
    norm = model.model.norm.forward

    def around(index):
        model.model.norm.forward = None if index == 2 else norm

    with (
        pytest.raises(TypeError),
        ftlab.profile(model, steps=5, warmup=0) as profiled,
    ):
        train(model, 3, around)
    assert profiled.summary.steps == 2
    assert_adds_up(profiled)


def test_ends_by_itself_and_the_training_goes_on():
    model, running, seen = tiny_llama(), [], []

    def look(index):
        running.append(torch.autograd.profiler._is_profiler_enabled)
        seen.append(profiled.summary.steps)

    with ftlab.profile(model, steps=1, warmup=1) as profiled:
        train(model, 7, look)
    assert running == [False, False, True, False, False, False, False]
    assert seen == [0, 0, 0, 1, 1, 1, 1]
    assert profiled.summary.steps == 1


def test_a_profiled_loop_is_bit_equal():
    def run(*, profiled):
        seed()
        made = LOOPS["dropout"]()
        seed()
        if not profiled:
            losses = [made.step(batch).item() for batch in feed(4)]
        else:
            with ftlab.profile(made.model, steps=2, warmup=1):
                losses = [made.step(batch).item() for batch in feed(4)]
        return state_of(made.model, made.optimizer, losses)

    assert run(profiled=True) == run(profiled=False)


def test_a_trainer_with_checkpoints_is_profiled():
    made = trainer(max_steps=4, gradient_checkpointing=True)
    with ftlab.profile(made, steps=2, warmup=1) as profiled:
        made.train()
    assert_adds_up(profiled)
    table = profiled.table()
    assert {"data", "optimizer", "logging", "other"} <= set(table.index)
    assert table.filter(like="layers.1.mlp.up_proj", axis=0)["backward"].sum() > 0


@pytest.mark.parametrize("marks", [False, True])
def test_works_beside_a_watch_and_agrees_on_steps(tmp_path, marks):
    model = tiny_llama()
    optimizer = torch.optim.AdamW(model.parameters())

    def step(count):
        for batch in batches(count):
            update(model(**batch).loss, optimizer)

    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run", marks=marks) as watch:
        step(3)
        with ftlab.profile(model, steps=2, warmup=1) as profiled:
            step(4)
        step(1)
    assert len(watch.run.steps) == 8
    assert profiled.summary.steps == 2
    assert_adds_up(profiled)
    assert profiled.table().filter(like="layers.0", axis=0)["forward"].sum() > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"steps": 0}, r"steps=0: it is 1 or more: profile\(model, steps=2\)"),
        ({"steps": True}, "steps=True"),
        ({"warmup": -1}, "warmup=-1: it is 0 or more"),
        ({"warmup": "2"}, "warmup='2'"),
    ],
)
def test_a_number_that_is_none_is_refused(given, said):
    with pytest.raises(ValueError, match=said), ftlab.profile(tiny_llama(), **given):
        pass


def test_something_else_is_refused():
    said = r"profile\(\) was given a list; pass a transformers.Trainer"
    with pytest.raises(AttachError, match=said), ftlab.profile([1]):
        pass


def test_commands_are_for_the_script_that_runs(monkeypatch):
    monkeypatch.setattr(sys, "executable", "python")
    monkeypatch.setattr(sys, "argv", ["train.py", "--lr", "1"])
    monkeypatch.setattr(sys, "orig_argv", ["python", "train.py", "--lr", "1 2"])
    lines = nvidia_commands(12, "backward").splitlines()
    whole, one, ncu, sanitizer = (e for e in lines if not e.startswith("#"))
    assert whole.startswith("nsys profile --trace=cuda,nvtx")
    assert "--capture-range=nvtx --nvtx-capture='step 12'" in one
    assert "--nvtx --nvtx-include 'step 12/backward'" in ncu
    assert "compute-sanitizer --tool memcheck" in sanitizer
    for line in (whole, one, ncu, sanitizer):
        assert line.endswith(" python train.py --lr '1 2'")


def test_commands_in_a_notebook_say_how_to_make_a_script(monkeypatch):
    kernel = ["python", "-m", "ipykernel_launcher", "-f", "kernel.json"]
    monkeypatch.setattr(sys, "orig_argv", kernel)
    found = nvidia_commands()
    assert "jupyter nbconvert --to script" in found
    assert "ipykernel" not in found


def test_a_profiler_that_runs_already_is_left_alone():
    model = tiny_lora()
    with torch.profiler.profile() as own:
        with (
            pytest.raises(BadValueError, match="runs already"),
            ftlab.profile(model),
        ):
            pass
        torch.ones(2) + 1
    assert any(each.name == "aten::add" for each in own.events())
