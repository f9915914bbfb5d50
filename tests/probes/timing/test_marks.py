"""Ranges of steps, phases and modules: nested, closed, and in nobody's way."""

import types

import pytest
import torch

import ftlab
from ftlab.probes.timing import marks
from ftlab.probes.timing.marks import _ranges, step_under_way
from ftlab.records.step_time import PHASES
from tests.models import batches, tiny_llama, tiny_lora, update
from tests.session.scenarios import LOOPS, feed, seed, state_of, trainer


class Log:
    """What was opened, each with its path; closing another than the last one fails."""

    def __init__(self):
        self.open, self.paths = [], []

    def push(self, name):
        self.open.append(name)
        self.paths.append(tuple(self.open))

    def pop(self, name=None):
        last = self.open.pop()
        assert name in (None, last)


@pytest.fixture
def log(monkeypatch):
    found = Log()

    class Range:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            found.push(self.name)

        def __exit__(self, *_):
            found.pop(self.name)

    monkeypatch.setattr(torch.profiler, "record_function", Range)
    yield found
    assert found.open == []
    assert _ranges.names == []


def loop(model, tmp_path, around=lambda _: None, count=2, **given):
    """Train; ``around`` may do something else before each batch."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    given = {"run_dir": tmp_path / "run", "marks": True} | given
    with ftlab.watch(model, optimizer, **given):
        for index, batch in enumerate(batches(count)):
            around(index)
            model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def under(log, *path):
    """Give what was opened directly within a path."""
    return [each[-1] for each in log.paths if each[:-1] == path]


def test_a_step_holds_phases_and_these_hold_modules(log, tmp_path):
    loop(tiny_lora(), tmp_path)
    assert under(log) == ["step 0", "step 1"]
    assert set(under(log, "step 0")) == {"forward", "backward", "optimizer", "other"}
    assert under(log, "step 1", "forward") == ["PeftModelForCausalLM"]
    layers = "base_model.model.model.layers.1"
    tail = (layers, f"{layers}.mlp", f"{layers}.mlp.down_proj")
    deepest = [each for each in log.paths if each[-4:-1] == tail]
    assert len(deepest) == 2 * 4
    assert {each[-1].rpartition("down_proj.")[2] for each in deepest} == {
        "base_layer",
        "lora_dropout.default",
        "lora_A.default",
        "lora_B.default",
    }


def test_clipping_is_of_the_optimizer(log, tmp_path, monkeypatch):
    seen = []
    clip = torch.nn.utils.clip_grad._clip_grads_with_norm_
    monkeypatch.setattr(
        "torch.nn.utils.clip_grad._clip_grads_with_norm_",
        lambda *a, **k: (seen.append(log.open[:]), clip(*a, **k))[1],
    )
    loop(tiny_llama(), tmp_path)
    assert seen == [["step 0", "optimizer"], ["step 1", "optimizer"]]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_exception_in_forward_leaves_nothing_open(log, tmp_path, kind):
    model = tiny_llama()
    head = model.lm_head.forward
    after = []

    def around(index):
        after.append(log.open[:])

        def fail(*_):
            raise kind

        model.lm_head.forward = fail if index == 1 else head
        if index == 1:
            with pytest.raises(kind):
                model(**next(batches(1)))
            after.append(log.open[:])
            model.lm_head.forward = head

    loop(model, tmp_path, around, count=3)
    if kind is ValueError:  # torch calls hooks after exceptions, not interrupts
        assert after[2] == ["step 1", "forward"]
    assert under(log) == ["step 0", "step 1", "step 2"]
    assert under(log, "step 2", "forward") == ["LlamaForCausalLM"]


def test_what_ends_within_a_forward_is_closed(log, tmp_path):
    model = tiny_llama()
    model.lm_head.forward = None
    with pytest.raises(TypeError):
        loop(model, tmp_path)


@pytest.mark.parametrize("reentrant", [False, True])
def test_what_checkpoints_compute_again_is_within_backward(log, tmp_path, reentrant):
    model = tiny_llama()
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    model.enable_input_require_grads()
    loop(model.train(), tmp_path)
    again = [each for each in log.paths if each[:2] == ("step 1", "backward")]
    assert {f"model.layers.{n}.mlp.up_proj" for n in range(2)} <= {e[-1] for e in again}
    longest = max(map(len, again))
    assert longest <= 6  # one layer does not stay open around the next


def test_evaluation_is_a_phase(log, tmp_path):
    model = tiny_llama()

    def around(index):
        if index:
            model.eval()
            with torch.no_grad():
                model(**next(batches(1)))
            model.train()

    loop(model, tmp_path, around, count=3)
    assert "model.layers.0" in {
        each[-1] for each in log.paths if each[:2] == ("step 0", "evaluation")
    }
    assert under(log, "step 1", "forward") == ["LlamaForCausalLM"]


def test_a_trainer_shows_all_its_phases(log, tmp_path):
    made = trainer(
        max_steps=3, eval_strategy="steps", eval_steps=2, save_strategy="steps",
        save_steps=2, output_dir=str(tmp_path / "out"),
    )  # fmt: skip
    with ftlab.watch(made, run_dir=tmp_path / "run", marks=True):
        made.train()
    assert under(log) == ["step 0", "step 1", "step 2"]
    seen = {each[1] for each in log.paths if len(each) > 1}
    assert seen == {*PHASES} - {"ftlab"}


def test_off_is_off(log, tmp_path):
    model = tiny_llama()
    hooks = []
    loop(
        model,
        tmp_path,
        lambda _: hooks.append(len(model.model.layers[1].mlp._forward_hooks)),
        interval=64,
        marks=False,
        count=8,
    )
    assert log.paths == []
    assert hooks[-1] == 0


def test_two_at_once_are_nested(log, tmp_path):
    model = tiny_llama()
    shown = []
    with ftlab.profile(model, steps=1, warmup=0):
        loop(model, tmp_path, lambda _: shown.append(step_under_way()))
    assert under(log)[-1] == "step 1"
    assert shown == [0, 0]
    depths = {each.count("model.layers.0") for each in log.paths}
    assert depths == {0, 1, 2}


def test_a_module_called_as_a_phase_is_told_apart(log, tmp_path):
    model = torch.nn.Module()
    model.data = torch.nn.Linear(2, 1)
    model.forward = lambda x: model.data(x)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run", marks=True):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    assert "Module.data" in {each[-1] for each in log.paths}


def test_layers_that_hooks_would_change_have_none(log, tmp_path):
    layer = torch.nn.TransformerEncoderLayer(4, 1, 4, batch_first=True)
    model = torch.nn.Sequential(layer, torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run", marks=True):
        model(torch.ones(1, 2, 4)).sum().backward()
        optimizer.step()
    assert under(log, "step 0", "forward", "Sequential") == ["1"]


def test_nvtx_gets_the_same_where_cuda_is_in_use(log, tmp_path, monkeypatch):
    nvtx, simple = Log(), types.SimpleNamespace
    calls = simple(range_push=nvtx.push, range_pop=nvtx.pop)
    cuda = simple(is_initialized=lambda: True, nvtx=calls)
    monkeypatch.setattr(marks, "torch", simple(cuda=cuda, profiler=torch.profiler))
    loop(tiny_llama(), tmp_path)
    assert nvtx.paths == log.paths
    assert nvtx.open == []


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.b(self.a(x).relu())


@pytest.mark.parametrize("outer", [True, False])
def test_nothing_enters_a_graph(log, tmp_path, outer):
    def train(**given):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.manual_seed(0)
        graphs, model = [], Net()

        def backend(module, _):
            graphs.append([str(n.target) for n in module.graph.nodes])
            return module.forward

        quick = torch.compile(model, backend=backend)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        target = quick if outer else model
        with ftlab.watch(target, optimizer, run_dir=tmp_path / str(given), **given):
            for _ in range(3):
                loss = quick(torch.ones(2, 4)).sum()
                update(loss, optimizer)
        return graphs, loss.item(), dict(torch._dynamo.utils.counters["graph_break"])

    bare = train()
    assert train(marks=True) == bare
    assert bare[2] == {}
    assert len(under(log)) == 3


@pytest.mark.parametrize("name", ["dropout", "checkpointing", "accumulation"])
def test_a_marked_loop_is_bit_equal(name, tmp_path):
    def train(**given):
        seed()
        made = LOOPS[name]()
        seed()
        folder = tmp_path / str(given)
        with ftlab.watch(made.model, made.optimizer, run_dir=folder, **given):
            losses = [made.step(batch).item() for batch in feed(3)]
        return state_of(made.model, made.optimizer, losses)

    assert train(marks=True) == train()


def test_a_marked_trainer_is_bit_equal(tmp_path):
    def train(**given):
        seed()
        made = trainer(max_steps=3)
        seed()
        with ftlab.watch(made, run_dir=tmp_path / str(given), **given):
            made.train()
        losses = [row["loss"] for row in made.state.log_history if "loss" in row]
        return state_of(made.model, made.optimizer, losses)

    assert train(marks=True) == train()
