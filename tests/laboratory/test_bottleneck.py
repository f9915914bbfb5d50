"""Bottleneck adapters by structure, and AdapterFusion: against plain computations."""

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration

import ftlab
from ftlab.faults.builders.tiny import batches, gpt2, llama, lora, own, trainable
from ftlab.laboratory.bottlenecks import bottlenecks
from ftlab.records.errors import BadValueError
from tests.models import update


class Squeezed(nn.Module):
    """A bottleneck that adds what it was given itself, as Houlsby et al. have it."""

    def __init__(self, width: int, narrow: int) -> None:
        super().__init__()
        self.calm = nn.LayerNorm(width)
        self.small = nn.Linear(width, narrow)
        self.wide = nn.Linear(narrow, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden + self.wide(torch.relu(self.small(self.calm(hidden))))


class Behind(nn.Module):
    """Puts something behind a module."""

    def __init__(self, wrapped: nn.Module, extra: nn.Module) -> None:
        super().__init__()
        self.wrapped = wrapped
        self.extra = extra

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        output = self.wrapped(*args, **kwargs)
        if isinstance(output, tuple):
            return self.extra(output[0]), *output[1:]
        return self.extra(output)


class Beside(nn.Module):
    """Adds what two plain layers make of a module's input to what that returns."""

    def __init__(self, wrapped: nn.Module, width: int, narrow: int) -> None:
        super().__init__()
        self.wrapped = wrapped
        self.extra = nn.Sequential(
            nn.Linear(width, narrow), nn.Tanh(), nn.Linear(narrow, width)
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.wrapped(hidden) + self.extra(hidden)


class Mixed(nn.Module):
    """Weighs several bottlenecks for each token."""

    def __init__(self, wrapped: nn.Module, names: list[str], width: int) -> None:
        super().__init__()
        self.wrapped = wrapped
        self.skills = nn.ModuleDict({name: Squeezed(width, 4) for name in names})
        self.judge = nn.Linear(width, len(names))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = self.wrapped(hidden)
        weights = torch.softmax(self.judge(hidden), dim=-1)
        each = torch.stack([skill(hidden) for skill in self.skills.values()], dim=-1)
        return (each * weights.unsqueeze(-2)).sum(-1)


class Attended(nn.Module):
    """Weighs what plain bottlenecks return by how it fits what they were given."""

    def __init__(self, wrapped: nn.Module, width: int) -> None:
        super().__init__()
        self.wrapped = wrapped
        self.skills = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4), nn.ReLU(), nn.Linear(4, width))
            for _ in range(3)
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = self.wrapped(hidden)
        each = torch.stack([skill(hidden) for skill in self.skills], dim=-2)
        weights = (each @ hidden.unsqueeze(-1)).squeeze(-1).softmax(-1)
        return hidden + (each * weights.unsqueeze(-1)).sum(-2)


def houlsby() -> Any:
    """Return a frozen Llama with a bottleneck behind both parts of each block."""
    model = llama()
    model.requires_grad_(False)
    width = model.config.hidden_size
    for block in model.model.layers:
        block.self_attn = Behind(block.self_attn, Squeezed(width, 4))
        block.mlp = Behind(block.mlp, Squeezed(width, 6))
    return model


def beside() -> Any:
    model = llama()
    model.requires_grad_(False)
    for block in model.model.layers:
        block.mlp = Beside(block.mlp, model.config.hidden_size, 6)
    return model


def mixed() -> Any:
    model = llama()
    model.requires_grad_(False)
    for block in model.model.layers:
        block.mlp = Mixed(block.mlp, ["math", "code"], model.config.hidden_size)
    return model


def trained(model: Any, steps: int = 3) -> Any:
    model.train()
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    for _ in range(steps):
        update(model(**batches()[0]).loss, optimizer)
    return model


def called(model: Any, module: nn.Module, batch: Any) -> tuple[Any, Any]:
    """Return what a module is given in a forward in evaluation mode."""
    given: list[Any] = []
    handle = module.register_forward_pre_hook(
        lambda _m, args, kwargs: given.append((args, kwargs)), with_kwargs=True
    )
    # a fusion's temperature falls with each call
    temperatures = [(m, m.T) for m in model.modules() if "T" in vars(m)]
    model.eval()
    with torch.no_grad():
        model(**batch)
    handle.remove()
    for fusion, temperature in temperatures:
        fusion.T = temperature
    return given[0]


def moved(on: torch.Tensor, off: torch.Tensor, batch: Any) -> float:
    real = batch["attention_mask"] != 0
    on, off = on[real].double(), off[real].double()
    return float((on - off).norm() / off.norm())


def norm_of(module: nn.Module) -> float:
    squares = (p.detach().double().square().sum() for p in module.parameters())
    return math.sqrt(sum(float(each) for each in squares))


@contextmanager
def unchanged(model: Any) -> Iterator[None]:
    """Fail if weights, buffers, gradients, modes, hooks or generators change."""
    state = {n: v.clone() for n, v in model.state_dict().items()}
    first = next(p for p in model.parameters() if p.requires_grad)
    first.grad = torch.ones_like(first)
    modules = list(model.modules())
    kept = [
        (m.training, len(m._forward_hooks), len(m._forward_pre_hooks)) for m in modules
    ]
    plain = [{k: v for k, v in vars(m).items() if k[:1] != "_"} for m in modules]
    trained = [p.requires_grad for p in model.parameters()]
    random = torch.get_rng_state()
    yield
    for name, value in model.state_dict().items():
        assert torch.equal(value, state[name]), name
    assert torch.equal(first.grad, torch.ones_like(first))
    assert kept == [
        (m.training, len(m._forward_hooks), len(m._forward_pre_hooks)) for m in modules
    ]
    for module, before in zip(modules, plain, strict=True):
        for name, value in before.items():
            assert vars(module)[name] is value or vars(module)[name] == value, name
    assert trained == [p.requires_grad for p in model.parameters()]
    assert torch.equal(random, torch.get_rng_state())


def test_hand_written_bottlenecks_are_measured_as_by_hand() -> None:
    model, batch = trained(houlsby()), batches()[0]
    with unchanged(model):
        found = ftlab.adapters(model, batch).anatomy
    assert [each.place for each in found.layers] == [
        f"layers.{n}.{part}" for n in (0, 1) for part in ("attention", "mlp")
    ]
    assert {(e.method, e.state) for e in found.layers} == {("BOTTLENECK", "active")}
    own = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert found.shared == {"bottleneck": own}
    for each in found.layers:
        module = model.get_submodule(each.name)
        (given,), _ = called(model, module, batch)
        with torch.no_grad():
            on = module(given)
        assert each.effect == pytest.approx(moved(on, given, batch), rel=1e-5)
        assert each.effect > 0
        assert each.norm == pytest.approx(norm_of(module), rel=1e-5)
        assert each.trainable == sum(p.numel() for p in module.parameters())


def test_the_next_token_without_them_is_that_of_the_plain_model() -> None:
    model, batch = trained(houlsby()), batches()[0]
    found = ftlab.adapters(model, batch).anatomy
    model.eval()
    with torch.no_grad():
        on, off = model(**batch).logits, llama().eval()(**batch).logits
    a, b = (each.double().log_softmax(-1) for each in (on, off))
    kl = (a.exp() * (a - b)).sum(-1)[batch["attention_mask"] != 0].mean()
    assert found.moved == pytest.approx(float(kl), rel=1e-4)
    assert found.moved > 0


def test_two_plain_layers_beside_a_module_are_seen_in_what_that_returns() -> None:
    model, batch = trained(beside()), batches()[0]
    with unchanged(model):
        found = ftlab.adapters(model, batch).anatomy
    assert len(found.layers) == 2
    for each in found.layers:
        around = model.get_submodule(each.name.removesuffix(".extra"))
        (given,), _ = called(model, around, batch)
        with torch.no_grad():
            on, off = around(given), around.wrapped(given)
        assert each.effect == pytest.approx(moved(on, off, batch), rel=1e-5)


def test_one_that_hangs_in_a_hook_is_where_the_hook_is() -> None:
    model = llama()
    model.requires_grad_(False)
    for block in model.model.layers:
        block.own = Squeezed(model.config.hidden_size, 4)
        block.input_layernorm.register_forward_hook(partial(behind, block.own))
    found = ftlab.adapters(model, batches()[0]).anatomy
    assert [each.place for each in found.layers] == [
        "layers.0.attention.pre.norm",
        "layers.1.attention.pre.norm",
    ]


def behind(adapter: nn.Module, _module: Any, _args: Any, output: Any) -> Any:
    return adapter(output)


def narrow_t5() -> Any:
    sizes = {"d_model": 32, "d_ff": 8, "d_kv": 8, "num_layers": 2, "num_heads": 4}
    return T5ForConditionalGeneration(T5Config(vocab_size=128, **sizes))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize(
    "build", [llama, gpt2, own, partial(llama, intermediate_size=8), narrow_t5]
)
def test_a_models_own_layers_are_no_adapters(build: Any, frozen: bool) -> None:
    assert not bottlenecks(build().requires_grad_(not frozen))


def test_narrow_layers_of_a_models_own_are_no_adapters() -> None:
    # an MLP that goes down first, trained as all else is, or frozen as all else is
    model = nn.ModuleList(
        nn.ModuleDict(
            {
                "look": nn.Linear(8, 8),
                "mlp": nn.Sequential(nn.Linear(8, 2), nn.ReLU(), nn.Linear(2, 8)),
            }
        )
        for _ in range(2)
    )
    assert not bottlenecks(model)
    assert not bottlenecks(model.requires_grad_(False))
    model[0]["mlp"].requires_grad_(True)
    assert [each.path for each in bottlenecks(model)] == ["0.mlp"]


def test_parts_of_other_adapters_are_no_bottlenecks() -> None:
    assert not [
        each for each in ftlab.adapters(lora()).anatomy.layers if each.method != "LORA"
    ]


def test_frozen_ones_and_those_in_half_precision_are_found() -> None:
    model = houlsby().requires_grad_(False)
    for block in model.model.layers:
        block.mlp.extra.bfloat16()
    layers = ftlab.adapters(model).anatomy.layers
    assert [each.dtype for each in layers] == ["float32", "bfloat16"] * 2
    assert {each.trainable for each in layers} == {0}


def test_an_up_projection_that_is_not_called_is_told() -> None:
    model = beside()
    for block in model.model.layers:
        block.mlp.forward = partial(past_the_call, block.mlp)
    found = ftlab.adapters(model, batches()[0]).anatomy
    assert all(math.isnan(each.effect) for each in found.layers)
    assert "up-projection is not called as a module" in found.notes[0]


def past_the_call(around: Any, hidden: torch.Tensor) -> torch.Tensor:
    down, act, up = around.extra
    return around.wrapped(hidden) + nn.functional.linear(act(down(hidden)), up.weight)


def test_the_model_is_left_as_it_was_where_a_forward_fails() -> None:
    model = trained(houlsby())
    with unchanged(model), pytest.raises(BadValueError, match="IndexError"):
        ftlab.adapters(model, {"input_ids": batches()[0]["input_ids"] + 1000})


def test_weights_of_a_hand_written_mixture_are_heard() -> None:
    model, batch = trained(mixed(), 8), batches()[0]
    with unchanged(model):
        view = ftlab.adapters(model, batch)
    gates = view.anatomy.gates
    assert [each.place for each in gates] == ["layers.0.mlp", "layers.1.mlp"]
    real = (batch["attention_mask"] != 0).numpy()
    for each, block in zip(gates, model.model.layers, strict=True):
        (given,), _ = called(model, block.mlp.judge, batch)
        with torch.no_grad():
            weights = block.mlp.judge(given).softmax(-1).double().numpy()
        assert each.adapters == ("math", "code")
        assert each.weights[real] == pytest.approx(weights[real], abs=1e-6)
        assert np.isnan(each.weights[~real]).all()
        assert each.mean == pytest.approx(weights[real].mean(0), abs=1e-6)
    assert {each.adapter for each in view.anatomy.layers} == {"math", "code"}
    assert len(view.gates.table()) == 2 * 2 * len(batch["input_ids"])


def test_weights_are_those_of_the_model_as_it_is_and_not_of_a_layer_tried() -> None:
    model, batch = llama(), batches()[0]
    model.requires_grad_(False)
    for block in model.model.layers:
        block.mlp = Attended(block.mlp, model.config.hidden_size)
    gates = ftlab.adapters(trained(model, 8), batch).anatomy.gates
    real = (batch["attention_mask"] != 0).numpy()
    for each, block in zip(gates, model.model.layers, strict=True):
        (given,), _ = called(model, block.mlp, batch)
        with torch.no_grad():
            hidden = block.mlp.wrapped(given)
            fits = [(skill(hidden) * hidden).sum(-1) for skill in block.mlp.skills]
        weights = torch.stack(fits, -1).softmax(-1).double().numpy()
        assert np.ptp(weights) > 1e-3
        assert each.adapters == ("0", "1", "2")
        assert each.weights[real] == pytest.approx(weights[real], abs=1e-6)


# AdapterHub's library: only with transformers 4.57, in `make test-oldest`


def fused(build: Any = llama, config: str = "double_seq_bn") -> Any:
    """Return a model with two adapters of the library's and a fusion of them."""
    adapters = pytest.importorskip("adapters")
    composition = pytest.importorskip("adapters.composition")
    model = build()
    adapters.init(model)
    for name in ("math", "code"):
        model.add_adapter(name, config=config)
    for name, parameter in model.named_parameters():
        if ".math." in name:
            torch.manual_seed(len(name))
            parameter.data.normal_(0, 0.3)
    settings = adapters.AdapterFusionConfig.load("dynamic", temperature=True)
    model.add_adapter_fusion(["math", "code"], config=settings)
    model.train_adapter_fusion(composition.Fuse("math", "code"))
    return trained(model, 8)


@pytest.mark.parametrize("build", [llama, gpt2])
@pytest.mark.parametrize("config", ["seq_bn", "double_seq_bn", "par_bn"])
def test_fusion_of_the_library_is_measured_as_by_hand(build: Any, config: str) -> None:
    model, batch = fused(build, config), batches()[0]
    with unchanged(model):
        view = ftlab.adapters(model, batch)
    found = view.anatomy
    held = [m for m in model.modules() if len(getattr(m, "adapters", ()) or ()) == 2]
    assert len(found.layers) == 3 * len(held) > 0
    assert {each.state for each in found.layers} == {"active"}
    kinds = {each.adapter: each.method for each in found.layers}
    assert kinds == {
        "math": "BOTTLENECK",
        "code": "BOTTLENECK",
        "math,code": "ADAPTERFUSION",
    }
    own = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert found.shared == {"math": 0, "code": 0, "math,code": own}
    for each in found.layers[::3]:
        module = model.get_submodule(each.name)
        args, kwargs = called(model, module, batch)
        fusion = module.adapter_fusion_layer["math,code"]
        temperature = fusion.T
        setup = model.adapters_config.active_setup
        with torch.no_grad():
            on = module(*(a if a is None else a.clone() for a in args), **kwargs)
            model.adapters_config.active_setup = None
            off = module(*args, **kwargs)
            model.adapters_config.active_setup = setup
        fusion.T = temperature
        assert each.effect == pytest.approx(moved(on, off, batch), rel=1e-4)
        assert each.norm == pytest.approx(norm_of(module.adapters["math"]), rel=1e-5)


def test_weights_of_a_fusion_are_those_that_the_library_gives() -> None:
    model, batch = fused(), batches()[0]
    found = ftlab.adapters(copy.deepcopy(model), batch)
    model.eval()
    with torch.no_grad():
        output = model(**batch, output_adapter_fusion_attentions=True)
    given = output.adapter_fusion_attentions["math,code"]
    real = (batch["attention_mask"] != 0).numpy()
    gates = {each.place: each for each in found.anatomy.gates}
    assert len(gates) == 4
    for layer, by_place in given.items():
        for key, place in (("mh_adapter", "attention"), ("output_adapter", "mlp")):
            each = gates[f"layers.{layer}.{place}"]
            assert each.adapters == ("math", "code")
            assert each.kind == "AdapterFusion"
            assert each.weights[real] == pytest.approx(by_place[key][real], abs=1e-6)
    assert "AdapterFusion: " in repr(found)
    assert len(found.gates.figure().axes) >= 3


def test_layers_of_bert_are_named_after_what_the_adapters_are_behind() -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    config = transformers.BertConfig(vocab_size=128, num_attention_heads=4, **sizes)
    model = fused(partial(transformers.BertForMaskedLM, config))
    with unchanged(model):
        found = ftlab.adapters(model, batches()[0]).anatomy
    assert [each.place for each in found.layers[::3]] == [
        "encoder.layers.0.attention.out",
        "encoder.layers.0.output.dense",
        "encoder.layers.1.attention.out",
        "encoder.layers.1.output.dense",
    ]
    assert all(each.effect > 0 for each in found.layers)


@pytest.mark.parametrize("config", ["CompacterConfig", "SeqBnInvConfig"])
def test_other_bottlenecks_of_the_library_are_found(config: str) -> None:
    adapters = pytest.importorskip("adapters")
    settings = {"phm_dim": 2, "reduction_factor": 4} if "Comp" in config else {}
    model = llama()
    adapters.init(model)
    model.add_adapter("one", config=getattr(adapters, config)(**settings))
    model.train_adapter("one")
    found = ftlab.adapters(trained(model), batches()[0]).anatomy
    assert {e.method for e in found.layers} == {"BOTTLENECK"}
    assert all(each.effect > 0 for each in found.layers)


def test_what_the_library_leaves_out_is_inactive() -> None:
    model = fused()
    model.set_active_adapters("math")
    states = {e.adapter: e.state for e in ftlab.adapters(model).anatomy.layers}
    assert states == {"math": "active", "code": "inactive", "math,code": "inactive"}
    found = ftlab.adapters(model, batches()[0]).anatomy
    assert not found.gates
    assert all((e.effect > 0) == (e.adapter == "math") for e in found.layers)
