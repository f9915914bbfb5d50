"""Every way to lose a gradient is found at its line; what is healthy is no cut."""

import copy
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import peft
import pytest
import torch
import transformers

import ftlab
from ftlab.faults.builders.blocks import four_bit
from ftlab.records.errors import BadValueError
from ftlab.records.flow import Flow
from tests.laboratory.flow.ways import WAYS, Way, marked_line
from tests.models import update

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "vocab_size": 64,
}
LLAMA = {**SIZES, "intermediate_size": 64, "num_key_value_heads": 2}
GPT2 = {"n_embd": 32, "n_layer": 4, "n_head": 4, "vocab_size": 64, "n_positions": 32}
BERT = {**SIZES, "num_hidden_layers": 2, "intermediate_size": 64}

FAMILIES: dict[str, Callable[[], torch.nn.Module]] = {
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA)),
    "qwen": lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**LLAMA)),
    "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2)),
    "gemma": lambda: transformers.GemmaForCausalLM(
        transformers.GemmaConfig(**LLAMA, head_dim=8)
    ),
    "moe": lambda: transformers.MixtralForCausalLM(
        transformers.MixtralConfig(**LLAMA, num_local_experts=4)
    ),
}
IDS = torch.randint(0, 64, (2, 8), generator=torch.Generator().manual_seed(0))


class Planted(torch.nn.Module):
    """A block whose input goes through something first."""

    def __init__(self, block: torch.nn.Module, way: Way) -> None:
        super().__init__()
        self.block = block
        self.way = way

    def forward(self, hidden: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Call the block with what ``way`` makes of its input."""
        return self.block(self.way(hidden), *args, **kwargs)


def made(family: str, *, lora: bool, way: Way | None = None) -> torch.nn.Module:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = FAMILIES[family]()
    if way is not None:
        blocks = model.transformer.h if family == "gpt2" else model.model.layers
        blocks[2] = Planted(blocks[2], way)
    if lora:
        targets = ["q_proj", "v_proj"] if family == "moe" else "all-linear"
        model = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=targets))
    return model


def loss_of(model: torch.nn.Module) -> Callable[[], torch.Tensor]:
    return lambda: model(input_ids=IDS, labels=IDS).loss


def blamed(flow: Flow) -> list[str]:
    zeros = [each.line for each in flow.zeros if not each.zeros]
    return [*(each.library_line for each in flow.cuts), *zeros]


@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_healthy_model_has_no_cut(family: str, lora: bool) -> None:
    model = made(family, lora=lora)
    view = ftlab.flow(loss_of(model), model)
    assert view.ok
    assert not view.flow.cuts
    assert view.flow.reached == view.flow.trained > 0


FIRST = ("llama", "moe")
"""Families that the first ring tries every way in; the others are slow."""


@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
@pytest.mark.parametrize(
    "family",
    [
        pytest.param(each, marks=() if each in FIRST else pytest.mark.slow)
        for each in FAMILIES
    ],
)
def test_every_way_is_found_at_its_line(family: str, lora: bool) -> None:
    wrong = {}
    for way in WAYS:
        model = made(family, lora=lora, way=way)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of some ways by itself
            flow = ftlab.flow(loss_of(model), model).flow
        lines = blamed(flow)
        right = lines and all(marked_line(way) in each for each in lines)
        if not right or flow.unexplained or flow.unused:
            wrong[way.__name__] = (lines, flow.unexplained, flow.unused)
    assert not wrong


def test_what_is_cut_off_is_what_has_no_gradient() -> None:
    way = next(each for each in WAYS if each.__name__ == "no_grad")
    model = made("llama", lora=False, way=way)
    flow = ftlab.flow(loss_of(model), model).flow
    loss_of(model)().backward()
    none = {name for name, each in model.named_parameters() if each.grad is None}
    assert {name for cut in flow.cuts for name in cut.parameters} == none
    assert "model.layers.1.mlp.up_proj.weight" in none
    norms = {
        f"layers.{at}": torch.linalg.vector_norm(
            torch.stack([p.grad.norm() for p in model.model.layers[at].parameters()])
        ).item()
        for at in (2, 3)
    }
    found = {each.name: each.parameters for each in flow.blocks}
    assert found["layers.2"] == pytest.approx(norms["layers.2"], rel=1e-4)
    assert found["layers.3"] == pytest.approx(norms["layers.3"], rel=1e-4)


def test_the_norm_on_an_edge_is_that_of_the_hidden_state() -> None:
    model = made("llama", lora=False)
    states = model(input_ids=IDS, labels=IDS, output_hidden_states=True)
    kept = states.hidden_states[3]
    kept.retain_grad()
    states.loss.backward()
    flow = ftlab.flow(loss_of(model), model).flow
    arrives = {each.name: each.arrives for each in flow.blocks}
    norm = kept.grad.norm().item()
    assert arrives["layers.2"] == pytest.approx(norm, rel=1e-5)
    edges = {(each.source, each.target): each.norm for each in flow.edges}
    assert edges["layers.3", "layers.2"] == pytest.approx(norm, rel=1e-5)


def _policy(model: Any) -> Callable[[], torch.Tensor]:
    def loss() -> torch.Tensor:
        def chosen() -> torch.Tensor:
            logits = model(input_ids=IDS).logits.log_softmax(-1)
            return logits.gather(-1, IDS[..., None])

        now = chosen()
        with torch.no_grad(), model.disable_adapter():
            before = chosen()
        ratio = (now - now.detach()).exp()
        return -(ratio - 0.1 * ((before - now).exp() + now)).mean()

    return loss


def test_a_detach_beside_the_way_is_no_cut() -> None:
    model = made("llama", lora=True)
    flow = ftlab.flow(_policy(model), model).flow
    assert not flow.cuts
    assert [each.op for each in flow.sides] == ["Tensor.detach"]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_that_work_are_no_cuts(reentrant: bool) -> None:
    for lora in (False, True):
        model = made("llama", lora=lora)
        inner = model.base_model.model if lora else model
        inner.gradient_checkpointing_enable({"use_reentrant": reentrant})
        model.train()
        assert ftlab.flow(loss_of(model), model).ok


def test_a_checkpoint_without_input_gradients_is_one_cut() -> None:
    model = made("llama", lora=True)
    inner = model.base_model.model
    inner.gradient_checkpointing_enable({"use_reentrant": True})
    inner.disable_input_require_grads()
    model.train()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flow = ftlab.flow(loss_of(model), model).flow
    assert [each.kind for each in flow.cuts] == ["checkpoint"]
    assert len(flow.cuts[0].parameters) == flow.trained
    assert "use_reentrant" in repr(ftlab.flow(loss_of(model), model))


def test_what_plays_no_part_is_not_called_cut() -> None:
    torch.manual_seed(0)
    model = transformers.BertModel(transformers.BertConfig(**BERT))
    view = ftlab.flow(
        lambda: model(input_ids=IDS).last_hidden_state.square().mean(), model
    )
    assert view.ok
    assert view.flow.unused == ("pooler.dense.weight", "pooler.dense.bias")


def test_a_scale_that_is_only_read_is_cut() -> None:
    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)
            self.scale = torch.nn.Parameter(torch.tensor(2.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x) * self.scale.item()

    model = Scaled()
    flow = ftlab.flow(lambda: model(torch.ones(2, 4)).square().mean(), model).flow
    assert [(each.kind, each.parameters) for each in flow.cuts] == [
        ("python", ("scale",))
    ]


def test_a_weight_that_is_detached_is_cut_alone() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))

    def loss() -> torch.Tensor:
        x = model[0](torch.ones(2, 4))
        weight = model[1].weight.data
        return torch.nn.functional.linear(x, weight, model[1].bias).square().mean()

    flow = ftlab.flow(loss, model).flow
    assert [(each.kind, each.parameters) for each in flow.cuts] == [
        ("data", ("1.weight",))
    ]


def test_two_cuts_in_a_row_are_both_told() -> None:
    model = made("llama", lora=False)
    for at in (1, 3):
        model.model.layers[at] = Planted(model.model.layers[at], WAYS[0])
    flow = ftlab.flow(loss_of(model), model).flow
    assert [each.modules for each in flow.cuts] == [
        ("model.layers.3", "model.layers.1")
    ]


def test_zeros_of_an_untrained_adapter_wait() -> None:
    model = made("llama", lora=True)
    text = repr(ftlab.flow(loss_of(model), model))
    assert "28 parameters have a gradient of exactly 0 for now" in text
    assert "lora_B" in text


def test_a_tensor_tells_what_is_reached() -> None:
    model = made("llama", lora=False)
    flow = ftlab.flow(loss_of(model)(), model).flow
    assert flow.reached == flow.trained
    assert [each.name for each in flow.blocks][:3] == ["loss", "lm_head", "norm"]
    embedded = model.get_input_embeddings()(IDS).detach()
    loss = model(inputs_embeds=embedded, labels=IDS).loss
    flow = ftlab.flow(loss, model).flow
    assert flow.unexplained == ("model.embed_tokens.weight",)
    assert "pass a function" in flow.notes[0]


def test_a_batch_and_a_compiled_model() -> None:
    model = made("llama", lora=False)
    assert ftlab.flow({"input_ids": IDS, "labels": IDS}, model).ok
    compiled = torch.compile(model)
    assert ftlab.flow(loss_of(compiled), compiled).ok


def test_a_trainer(tmp_path: Any) -> None:
    model = made("llama", lora=True)
    rows = [{"input_ids": each, "labels": each} for each in IDS.tolist()]
    trainer = transformers.Trainer(
        model, transformers.TrainingArguments(str(tmp_path), report_to=[]), None, rows
    )
    assert ftlab.flow(trainer).ok
    trainer.train()


def test_nothing_of_the_model_changes() -> None:
    model = made("llama", lora=False, way=WAYS[7])
    model.train()
    loss_of(model)().backward()
    before = copy.deepcopy(dict(model.named_parameters()))
    gradients = {name: each.grad for name, each in model.named_parameters()}
    values = {
        name: each.clone() for name, each in gradients.items() if each is not None
    }
    state, modes = torch.get_rng_state(), [each.training for each in model.modules()]
    ftlab.flow(loss_of(model), model)
    for name, each in model.named_parameters():
        assert torch.equal(each, before[name])
        assert each.grad is gradients[name]
        assert each.grad is None or torch.equal(each.grad, values[name])
    assert torch.equal(torch.get_rng_state(), state)
    assert [each.training for each in model.modules()] == modes
    assert not any(each._forward_hooks for each in model.modules())


def test_forms_for_eighty_layers() -> None:
    config = transformers.LlamaConfig(**{**LLAMA, "num_hidden_layers": 80})
    model = transformers.LlamaForCausalLM(config)
    model.model.layers[40] = Planted(model.model.layers[40], WAYS[0])
    view = ftlab.flow(loss_of(model), model)
    html = view.widget().value
    assert html.count("<details>") == 2
    assert "layers.79 to layers.41" in html
    assert "cut here" in html
    table = view.table()
    assert len(table) == 84
    assert table.loc[table["cut"] != "", "block"].tolist() == ["layers.40"]
    assert "layers.0 to 39" in repr(view)
    assert view.figure().axes


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (lambda: torch.ones(2), r"shape \(2,\); flow\(\) wants"),
        (lambda: 3.0, "the loss is a float"),
        (3.0, "given a float as loss"),
    ],
)
def test_bad_losses(loss: Any, said: str) -> None:
    with pytest.raises(BadValueError, match=said):
        ftlab.flow(loss, torch.nn.Linear(1, 1))


def test_a_function_that_runs_backward_is_refused() -> None:
    model = torch.nn.Linear(2, 1)
    model(torch.ones(1, 2)).sum().backward()
    before = model.weight.grad

    def step() -> torch.Tensor:
        loss = model(torch.ones(1, 2)).sum()
        loss.backward()
        return loss

    with pytest.raises(BadValueError, match="calls backward"):
        ftlab.flow(step, model)
    assert model.weight.grad is before
    assert torch.equal(before, torch.ones(1, 2))


WRAPPED = """
import torch, ftlab
from torch.distributed.fsdp import fully_shard
from tests.laboratory.flow.test_flow import loss_of, made

store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
parallel = torch.nn.parallel.DistributedDataParallel(made("llama", lora=False))
for _ in range(2):
    print(ftlab.flow(loss_of(parallel), parallel).ok)
loss_of(parallel)().backward()
sharded = made("llama", lora=False)
for block in (*sharded.model.layers, sharded):
    fully_shard(block)
print(ftlab.flow(loss_of(sharded), sharded).ok)
loss_of(sharded)().backward()
print(all(each.grad is not None for each in sharded.parameters()))
torch.distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_wrappers_of_several_processes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRAPPED], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["True"] * 4, done.stderr


def test_few_bits_and_autocast() -> None:
    base = made("llama", lora=False)
    adapted = peft.get_peft_model(
        four_bit(base), peft.LoraConfig(target_modules="all-linear")
    )
    with torch.autocast("cpu", torch.bfloat16):
        assert ftlab.flow(loss_of(adapted), adapted).ok


def test_a_loss_may_hold_a_gradient() -> None:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

    model = Two()

    def penalty() -> torch.Tensor:
        x = torch.ones(3, 2, requires_grad=True)
        out = model.used(x).square().sum()
        (slope,) = torch.autograd.grad(out, x, create_graph=True)
        return slope.square().mean()

    view = ftlab.flow(penalty, model)
    assert view.ok
    assert view.flow.unused == ("unused.weight", "unused.bias")


class Pair(torch.nn.Module):
    """Two layers, with something between them."""

    def __init__(self, between: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        self.between = between

    def forward(self) -> torch.Tensor:
        """Return a loss of random inputs."""
        x = torch.ones(3, 4) * torch.arange(3)[:, None]
        return self.b(self.between(self.a(x))).square().mean()


def flow_between(between: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    torch.manual_seed(0)
    model = Pair(between)
    return ftlab.flow(model, model)


def one_hot(indices: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.one_hot(indices, 4).float()


@pytest.mark.parametrize(
    "between",
    [
        lambda h: one_hot(h.max(-1)[1]),
        lambda h: one_hot(h.topk(1).indices[:, 0]),
        lambda h: one_hot(h.sort()[1][:, 0]),
        lambda h: torch.distributions.Normal(h, 1.0).sample(),
        lambda h: torch.distributions.Bernoulli(h.sigmoid()).sample(),
        lambda h: torch.ones(3, 4).expand_as(h) * h.detach(),
    ],
)
def test_indices_beside_values_and_samples_are_cuts(between: Any) -> None:
    flow = flow_between(between).flow
    assert [each.parameters for each in flow.cuts] == [("a.weight", "a.bias")]
    assert "test_flow.py" in flow.cuts[0].library_line


def test_what_lends_its_shape_is_no_part_of_the_loss() -> None:
    flow = flow_between(lambda h: torch.ones(3, 4).expand_as(h).to(h)).flow
    assert flow.unused == ("a.weight", "a.bias")


def test_a_gradient_that_cancels_is_told() -> None:
    view = flow_between(lambda h: h - h + torch.ones(3, 4))
    assert not view.ok
    assert view.flow.zeros[0].parameters == ("a.weight", "a.bias")
    assert "2 parameters of a" in repr(view)


def test_a_product_with_a_weight_that_is_zero_waits() -> None:
    gate = torch.nn.Linear(4, 4)
    torch.nn.init.zeros_(gate.weight)
    torch.nn.init.zeros_(gate.bias)
    torch.manual_seed(0)
    model = Pair(lambda h: 1 + gate(torch.ones(3, 4)) * h)
    model.gate = gate
    view = ftlab.flow(model, model)
    assert view.ok
    assert view.flow.zeros[0].zeros == "gate.weight"
    flow = flow_between(lambda h: 1 + torch.zeros(4) * h).flow
    assert [each.zeros for each in flow.zeros] == [""]


class Spent(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: object, h: torch.Tensor) -> torch.Tensor:
        return h * 1.0

    @staticmethod
    def backward(_ctx: object, _gradient: torch.Tensor) -> torch.Tensor:
        msg = "not today"
        raise RuntimeError(msg)


def test_a_backward_that_raises_is_not_ok() -> None:
    view = flow_between(Spent.apply)
    assert not view.ok
    assert view.headline() == "Gradient flow: backward cannot be run"
    assert "not today" in repr(view)


def test_a_loss_without_a_graph_is_not_ok() -> None:
    model = torch.nn.Linear(2, 1).requires_grad_(False)
    view = ftlab.flow(lambda: model(torch.ones(1, 2)).sum(), model)
    assert (view.ok, view.headline()) == (
        False,
        "Gradient flow: no parameter is trained",
    )


def test_a_thousand_stops_in_a_row() -> None:
    def long(h: torch.Tensor) -> torch.Tensor:
        for _ in range(1500):
            h = (h * 1.0).detach()
        return h

    assert len(flow_between(long).flow.cuts) == 1


def test_functional_gradients_are_followed() -> None:
    def slope(h: torch.Tensor) -> torch.Tensor:
        return h + torch.func.grad(lambda e: e.square().sum())(h)

    assert flow_between(slope).ok


def test_a_forward_that_writes_to_weights_is_undone() -> None:
    torch.manual_seed(0)
    model = Pair(lambda h: h)

    def loss() -> torch.Tensor:
        with torch.no_grad():
            model.a.weight.mul_(0.9)
        return model()

    before = model.a.weight.clone()
    assert ftlab.flow(loss, model).ok
    assert torch.equal(model.a.weight, before)


def test_a_function_that_updates_is_refused() -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    before = model.weight.clone()

    def step() -> torch.Tensor:
        update(model(torch.ones(1, 2)).sum(), optimizer)
        return model(torch.ones(1, 2)).sum()

    with pytest.raises(BadValueError, match=r"calls SGD.step\(\)"):
        ftlab.flow(step, model)
    assert torch.equal(model.weight, before)


def test_what_has_no_values_is_refused() -> None:
    with pytest.raises(BadValueError, match="weight has no values yet"):
        ftlab.flow(lambda: torch.ones(()), torch.nn.Linear(1, 1, device="meta"))
    with (
        torch.inference_mode(),
        pytest.raises(BadValueError, match="inference_mode"),
    ):
        ftlab.flow(lambda: torch.ones(()), torch.nn.Linear(1, 1))


def test_no_model() -> None:
    with pytest.raises(BadValueError, match="pass the model"):
        ftlab.flow(lambda: torch.ones(()))
