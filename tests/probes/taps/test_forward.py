"""What the model was called with, and in which mode."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, grad, jacrev, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

from ftlab.probes.probe import Probe
from ftlab.probes.standard import standard_probes
from tests.models import batches, tiny_llama
from tests.probes.recording import Recording


class OpCounter(TorchDispatchMode):
    """Notes the operations that torch runs."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Inputs(Probe):
    name = "inputs"

    def __init__(self):
        self.seen = []

    def on_batch(self, moment, inputs):
        self.seen.append((moment.step, dict(inputs)))
        return ()


def test_positional_inputs_get_their_parameter_names():
    model, probe = tiny_llama(), Inputs()
    batch = next(batches(1))
    with Recording(model, probes=[probe]):
        model(batch["input_ids"], labels=batch["labels"])
    ((step, inputs),) = probe.seen
    assert step == 0
    assert set(inputs) == {"input_ids", "labels"}


def test_each_micro_batch_is_shown_once_and_to_its_step():
    torch.manual_seed(0)
    model, probe = torch.nn.Linear(4, 1), Inputs()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[probe]):
        for _ in range(2):
            for _ in range(2):
                model(torch.zeros(1, 4))
                model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
    assert [step for step, _ in probe.seen] == [0, 0, 1, 1]
    assert all(inputs["input"].shape == (1, 4) for _, inputs in probe.seen)


def test_an_evaluation_that_keeps_graphs_is_replaced_by_the_training_batch():
    model, probe = torch.nn.Linear(4, 1), Inputs()
    with Recording(model, probes=[probe]) as recording:
        model.eval()(torch.zeros(1, 4))
        model.train()(torch.ones(2, 4)).sum().backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert probe.seen[-1][1]["input"].shape == (2, 4)
    modes = [e.detail["mode"] for e in recording.ledger(0) if e.op == "forward"]
    assert modes == ["eval", "train"]


def test_a_copy_of_the_model_is_not_the_model():
    import copy

    model, probe = torch.nn.Linear(4, 1), Inputs()
    with Recording(model, probes=[probe]):
        copy.copy(model)(torch.ones(2, 4))  # shares the hooks, as replicas do
    assert probe.seen == []


def fake_mode(model, x):
    with FakeTensorMode(allow_non_fake_inputs=True):
        model(torch.ones(2, 4))


def fake_parameters(model, x):
    with FakeTensorMode() as mode:
        fakes = {n: mode.from_tensor(p) for n, p in model.named_parameters()}
        inputs = mode.from_tensor(x)
    functional_call(model, fakes, (inputs,))


def meta(model, x):
    shapes = {n: p.to("meta") for n, p in model.named_parameters()}
    functional_call(model, shapes, (x.to("meta"),))


def per_sample_gradients(model, x):
    def loss(parameters, row):
        return functional_call(model, parameters, (row,)).sum()

    vmap(grad(loss), in_dims=(None, 0))(dict(model.named_parameters()), x)


@pytest.mark.parametrize(
    "pass_through",
    [
        lambda model, x: vmap(model)(x),
        lambda model, x: jvp(model, (x,), (x,)),
        lambda model, x: jacrev(model)(x),
        lambda model, x: make_fx(model)(x),
        lambda model, x: torch.jit.trace(model, (x,), check_trace=False),
        lambda model, x: torch.export.export(model, (x,)),
        lambda model, x: torch.export.export(model, (x,), strict=False),
        per_sample_gradients,
        fake_mode,
        fake_parameters,
        meta,
    ],
)
@pytest.mark.filterwarnings("error::ftlab.records.errors.FtlabWarning")
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_forward_under_a_transform_or_tracer_is_no_training(pass_through):
    def record(between):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x, probes = torch.ones(2, 4), standard_probes(interval=1, activations=True)
        with Recording(model, optimizer, probes=probes) as recording:
            for _ in range(2):
                between(model, x)
                model(x).sum().backward()
                between(model, x)
                optimizer.step()
                between(model, x)
                optimizer.zero_grad()
        return recording

    watched, plain = record(pass_through), record(lambda *_: None)
    assert watched.losses == plain.losses
    assert watched.ops(0) == plain.ops(0)
    assert watched.ops(1) == plain.ops(1)
    for column in ("grad_l2", "update_l2"):
        assert watched.column(1, column) == plain.column(1, column)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_watched_model_can_be_scripted(whole):
    inner, x = torch.nn.Sequential(torch.nn.Linear(4, 1)), torch.ones(2, 4)
    model = torch.nn.Sequential(inner, torch.nn.Linear(1, 1))
    with Recording(model if whole else inner) as recording:
        scripted = torch.jit.script(model)
        assert torch.equal(scripted(x), model(x))
        assert recording.recorder.failure is None
        loop = recording.recorder._loop
        assert [entry.op for entry in loop.step.ledger.records(0)] == ["forward"]
    assert not inner._forward_pre_hooks
    assert not model._forward_pre_hooks


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_script_made_under_one_of_two_watches_brings_no_hook_back():
    first, second = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    earlier, later = Recording(first), Recording(second)
    with earlier.recorder, later.recorder:
        earlier.recorder.detach()
        torch.jit.script(second)
        assert not first._forward_pre_hooks
        assert second._forward_pre_hooks
    assert not second._forward_pre_hooks


class Deeper(torch.nn.TransformerEncoderLayer):
    def forward(self, src, *args, **kwargs):
        return super().forward(src, *args, **kwargs)


@pytest.mark.parametrize("kind", [torch.nn.TransformerEncoderLayer, Deeper])
def test_an_encoder_layer_computes_as_it_does_unwatched(kind):
    torch.manual_seed(0)
    model = kind(32, 4, 64, batch_first=True)
    x, probe = torch.randn(4, 9, 32), Inputs()
    pads = torch.zeros(4, 9, dtype=torch.bool)
    pads[:, 6:] = True

    def evaluate():
        with torch.no_grad(), OpCounter() as counter:
            output = model.eval()(x, src_key_padding_mask=pads)
        return output, counter.names

    own, own_ops = evaluate()
    assert "aten._transformer_encoder_layer_fwd.default" in own_ops
    with Recording(model, probes=[probe]) as recording:
        output, ops = evaluate()
        model.train()(x).sum().backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert torch.equal(output, own)
    assert ops == own_ops
    assert recording.ops(0) == ["forward", "forward", "backward", "step"]
    assert [set(inputs) for _, inputs in probe.seen] == [{"src"}]
    assert not any("times" in entry.detail for entry in recording.ledger(0))
