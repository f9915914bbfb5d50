"""Where two executions part: planted changes are named, other roundings are not."""

import contextlib
import copy

import pytest
import torch
from torch import nn

from benchmarks.planted_pairs import HalfSums
from ftlab.executions.between import pair_between
from ftlab.executions.difference import compare
from ftlab.executions.pairs import Pair, side
from ftlab.faults.builders import tiny
from ftlab.replay.capsules.rng import RngState
from tests.executions.sides import (
    PRECISIONS,
    SMALL,
    Small,
    difference,
    llama,
    llamas,
    padded,
    small_batch,
    told,
)
from tests.models import tiny_lora

EVERY = [[0, at] for at in range(8)] + [[1, at] for at in range(3, 8)]
LATER = [token for token in EVERY if token not in ([0, 0], [1, 3])]
"""Tokens that have one before them."""
in_each_precision = pytest.mark.parametrize(
    "dtype",
    [PRECISIONS[0], pytest.param(PRECISIONS[1], marks=pytest.mark.slow)],
    ids=str,
)


@in_each_precision
def test_a_weight_is_named(dtype):
    a, b = llamas(dtype)
    b.model.layers[1].mlp.up_proj.weight.data *= 1.5
    found = difference(a, b)
    born = told(found)
    assert (born.module, born.ops) == ("model.layers.1.mlp.up_proj", ("linear",) * 2)
    assert (born.phase, born.weights, born.changes) == ("forward", ("weight",), True)
    assert born.tokens.tolist() == EVERY
    assert born.relative == pytest.approx(0.5, rel=1e-2)
    assert found.rest < 1e-9


@in_each_precision
def test_what_a_hook_does_to_one_token_is_named(dtype):
    def scaled(_module, _given, output):
        factor = torch.ones((*output.shape[:2], 1), dtype=output.dtype)
        factor[1, 5] = 1.5
        return output * factor

    a, b = llamas(dtype)
    b.model.layers[0].self_attn.o_proj.register_forward_hook(scaled)
    born = told(difference(a, b))
    assert born.module == "model.layers.0.self_attn.o_proj"
    assert born.ops == ("", "Tensor.mul")
    assert born.lines[1].startswith("tests/executions/test_difference.py:")
    assert born.tokens.tolist() == [[1, 5]]
    assert born.weights == ()


@in_each_precision
def test_a_scale_of_attention_is_named_in_all_blocks_together(dtype):
    a, b = llamas(dtype)
    for layer in b.model.layers:
        layer.self_attn.scaling *= 3
    born = told(difference(a, b))
    assert born.module == "model.layers.0.self_attn"
    assert born.also == ("model.layers.1.self_attn",)
    assert born.ops == ("scaled_dot_product_attention",) * 2
    assert born.tokens.tolist() == LATER


@in_each_precision
def test_the_epsilon_of_a_norm_is_named(dtype):
    a, b = llamas(dtype)
    b.model.layers[1].input_layernorm.variance_epsilon = 0.1
    born = told(difference(a, b))
    assert born.module == "model.layers.1.input_layernorm"
    assert born.ops == ("Tensor.add", "Tensor.add")
    assert born.tensor == "what it returns"
    assert born.tokens.tolist() == EVERY


@in_each_precision
def test_another_base_of_rotary_embeddings_is_named(dtype):
    rope = {"rope_theta": 500.0, "rope_type": "default"}
    born = told(difference(*llamas(dtype, rope_parameters=rope)))
    assert born.module == "model.rotary_emb"
    assert "inv_freq" in born.weights


@contextlib.contextmanager
def blind():
    """Let Llamas attend to padding."""
    from transformers.models.llama import modeling_llama

    right = modeling_llama.create_causal_mask

    def wrong(*args, attention_mask, **kwargs):
        mask = torch.ones_like(attention_mask)
        return right(*args, attention_mask=mask, **kwargs)

    modeling_llama.create_causal_mask = wrong
    try:
        yield
    finally:
        modeling_llama.create_causal_mask = right


@in_each_precision
def test_a_mask_that_lets_padding_in_is_named_where_it_is_made(dtype):
    a, b = (llama(dtype, attn_implementation="eager") for _ in "ab")
    born = told(difference(a, b, within=blind))
    assert born.module == "model"
    assert "is given (attention_mask)" in born.tensor
    assert born.changes


@in_each_precision
def test_a_mask_that_is_missing_is_named_where_padding_is_attended_to(dtype):
    born = told(difference(*llamas(dtype), within=blind))
    assert born.module == "model.layers.0.self_attn"
    assert born.tokens.tolist() == [[1, at] for at in range(3, 8)]


def test_positions_that_are_all_shifted_are_without_consequence():
    a, b = llamas()

    def shifted(_module, args, kwargs):
        return args, kwargs | {"position_ids": kwargs["position_ids"] + 7}

    b.model.rotary_emb.register_forward_pre_hook(shifted, with_kwargs=True)
    found = difference(a, b)
    assert {born.module for born in found.born} == {"model.rotary_emb"}
    assert {born.changes for born in found.born} == {False}
    assert found.equal


def test_a_difference_with_consequence_is_told_before_one_without():
    a, b = llamas()

    def shifted(_module, args, kwargs):
        return args, kwargs | {"position_ids": kwargs["position_ids"] + 7}

    b.model.rotary_emb.register_forward_pre_hook(shifted, with_kwargs=True)
    b.lm_head.weight.data *= 1.5
    found = difference(a, b)
    assert found.born[0].module == "lm_head"
    assert [born.changes for born in found.born] == [True, False]
    assert not found.equal


@in_each_precision
@pytest.mark.parametrize("between", ["attention", "checkpointing", "mode", "padding"])
def test_other_ways_to_the_same_are_equal(dtype, between):
    found = compare(pair_between(llama(dtype), padded(), between))
    assert found.equal
    assert not [born for born in found.born if born.changes is not False]
    assert found.outcome < 3


@in_each_precision
def test_sums_in_another_order_are_equal(dtype):
    found = difference(*llamas(dtype), within=HalfSums)
    assert found.equal
    assert found.born == ()
    assert found.outcome > 0


@in_each_precision
@pytest.mark.parametrize("reentrant", [True, False])
def test_both_ways_of_checkpointing_are_equal(dtype, reentrant):
    a, b = llamas(dtype)
    b.train().gradient_checkpointing_enable({"use_reentrant": reentrant})
    found = difference(a, b)
    assert found.equal
    backward = [row.module for row in found.rows if row.phase == "backward"]
    assert "model.layers.0.self_attn.v_proj" in backward


@in_each_precision
def test_a_merged_adapter_is_equal(dtype):
    model = tiny_lora(llama(dtype), init_lora_weights=False)
    found = compare(pair_between(model, padded(), "merge"))
    assert found.equal
    assert found.born == ()
    assert "model.layers.0.self_attn.q_proj.lora_A.default" in found.alone[0]


def test_a_wrongly_merged_adapter_is_named():
    model = tiny_lora(llama(), init_lora_weights=False)
    pair = pair_between(model, padded(), "merge")
    pair.b.model.model.layers[1].self_attn.v_proj.weight.data *= 1.2
    assert told(compare(pair)).module == "model.layers.1.self_attn.v_proj"


def test_an_adapters_scale_is_named_and_one_that_is_zero_is_equal():
    a, b = (tiny_lora(llama(), init_lora_weights=False) for _ in "ab")
    b.base_model.model.model.layers[1].self_attn.q_proj.scaling["default"] *= 2
    born = told(difference(a, b))
    assert born.module == "model.layers.1.self_attn.q_proj"
    assert born.ops == ("Tensor.mul", "Tensor.mul")
    assert difference(llama(), tiny_lora(llama())).equal


class Wrong(torch.autograd.Function):
    """An identity whose gradient is too large."""

    @staticmethod
    def forward(_context, x):
        return x * 1.0

    @staticmethod
    def backward(_context, gradient):
        return gradient * 1.5


class WrongActivation(nn.Module):
    def forward(self, x):
        return Wrong.apply(nn.functional.silu(x))


@in_each_precision
def test_a_wrong_gradient_is_named_in_backward(dtype):
    a, b = llamas(dtype)
    b.model.layers[1].mlp.act_fn = WrongActivation()
    found = difference(a, b)
    born = told(found)
    assert (born.module, born.phase) == ("model.layers.1.mlp.act_fn", "backward")
    assert born.ops[1] == "WrongBackward"
    assert born.tensor == "the gradient of what it is given (0)"
    assert born.changes is None
    assert found.outcome < 3


def scaled(gradient):
    return gradient * 1.5


@in_each_precision
def test_a_gradient_that_is_dropped_is_named_and_what_it_leads_to_is_not(dtype):
    a, b = llamas(dtype)
    b.model.layers[1].mlp.register_forward_hook(lambda *of: of[-1].detach())
    born = told(difference(a, b))
    assert (born.module, born.phase) == ("model.layers.1.mlp", "backward")
    assert born.ops == ("", "Tensor.detach")
    assert born.lines[1].startswith("tests/executions/test_difference.py:")
    a, b = llamas(dtype)
    b.lm_head.register_forward_pre_hook(lambda _, given: given[0].detach())
    assert told(difference(a, b)).module == "lm_head"


@in_each_precision
def test_what_a_module_does_to_one_of_several_branches_is_named(dtype):
    a, b = llamas(dtype)
    attention = b.model.layers[0].self_attn
    projection = attention.v_proj
    vars(attention)["v_proj"] = lambda x: projection(Wrong.apply(x))
    born = told(difference(a, b))
    assert (born.module, born.ops[1]) == ("model.layers.0.self_attn", "WrongBackward")
    vars(attention)["v_proj"] = lambda x: projection(x.detach())
    born = told(difference(a, b))
    assert born.module == "model.layers.0.self_attn"
    assert born.ops == ("", "Tensor.detach")


@in_each_precision
def test_a_hook_on_a_gradient_is_of_the_module_that_puts_it_there(dtype):
    a, b = llamas(dtype)
    handles = []
    b.model.layers[1].mlp.up_proj.register_forward_pre_hook(
        lambda _, given: handles.append(given[0].register_hook(scaled))
    )
    born = told(difference(a, b))
    for handle in handles:
        handle.remove()
    assert born.module == "model.layers.1.mlp.up_proj"
    assert born.ops == ("", "aten.mul")
    assert born.lines[1].endswith(" scaled")


@in_each_precision
def test_a_parameters_hook_is_named(dtype):
    a, b = llamas(dtype)
    b.model.layers[1].mlp.up_proj.weight.register_hook(scaled)
    born = told(difference(a, b))
    assert born.module == "model.layers.1.mlp.up_proj"
    assert born.tensor == "the gradient of its weight"
    assert born.lines[1].endswith(" scaled")


def test_a_parameter_that_is_used_detached_is_named():
    class Frozen(nn.Linear):
        def forward(self, x):
            return nn.functional.linear(x, self.weight.detach())

    a, b = llamas()
    b.model.layers[0].mlp.up_proj.__class__ = Frozen
    born = told(difference(a, b))
    assert born.module == "model.layers.0.mlp.up_proj"
    assert born.tensor == "the gradient of its weight"
    assert born.ops == ("", "Tensor.detach")


def test_dropout_does_not_matter():
    a, b = llamas(attention_dropout=0.5)
    assert difference(a.train(), b.train()).outcome == 0
    pdrop = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.5)
    a, b = tiny.gpt2(n_embd=32), tiny.gpt2(n_embd=32, **pdrop)
    assert difference(a.train(), b.train()).outcome == 0


@in_each_precision
def test_a_bias_of_a_gpt2_is_named(dtype):
    a, b = (tiny.gpt2(n_embd=32).to(dtype) for _ in "ab")
    b.transformer.h[0].attn.c_attn.bias.data += 0.5
    born = told(difference(a, b))
    assert (born.module, born.ops) == ("transformer.h.0.attn.c_attn", ("addmm",) * 2)
    assert born.weights == ("bias",)


def test_a_gpt2_that_counts_positions_with_padding_is_told():
    found = compare(pair_between(tiny.gpt2(n_embd=32), padded(), "padding"))
    assert found.born[0].module == "transformer"
    assert found.born[0].changes
    right = {"position_ids": torch.tensor([[*range(8)], [0, 0, 0, *range(5)]])}
    pair = pair_between(tiny.gpt2(n_embd=32), padded() | right, "padding")
    assert compare(pair).equal


@in_each_precision
def test_an_expert_of_a_mixtral_is_named(dtype):
    shape = SMALL | {"num_local_experts": 4, "num_experts_per_tok": 2}
    a = tiny.mixtral(0, **shape).to(dtype)
    b = copy.deepcopy(a)
    assert difference(a, b).equal
    b.model.layers[1].mlp.experts.down_proj.data[1] *= 1.5
    born = told(difference(a, b))
    assert born.module == "model.layers.1.mlp.experts"
    assert born.weights == ("down_proj",)


def test_a_4bit_layer_is_equal_to_itself_and_its_bias_is_named():
    import bitsandbytes as bnb

    made = []
    for _ in "ab":
        torch.manual_seed(0)
        model = Small()
        plain = model.layers[0]
        layer = bnb.nn.Linear4bit(4, 8, compute_dtype=torch.float32, quant_type="nf4")
        layer.load_state_dict(plain.state_dict())
        model.layers[0] = layer.to("cpu")
        made.append(model)
    a, b = made
    assert difference(a, b, small_batch()).equal
    b.layers[0].bias.data += 0.5
    born = told(difference(a, b, small_batch()))
    assert (born.module, born.weights) == ("layers.0", ("bias",))


def bits(model):
    """Return all that must be the same afterwards, to compare with ==."""
    tensors = [*model.named_parameters(), *model.named_buffers()]
    grads = [(n, p.grad) for n, p in model.named_parameters()]
    return (
        [(n, t.dtype, id(t), t.detach().tolist()) for n, t in tensors],
        [p._version for p in model.parameters()],
        [(n, g if g is None else g.tolist()) for n, g in grads],
        [p.requires_grad for p in model.parameters()],
        [(module.training, sorted(vars(module))) for module in model.modules()],
        [(*m._forward_hooks, *m._forward_pre_hooks) for m in model.modules()],
        torch.is_grad_enabled(),
    )


class Interrupted(nn.Module):
    """Lets some calls pass and raises then; what it keeps itself would be put back."""

    def __init__(self, calls, error):
        super().__init__()
        self.left, self.error = iter(range(calls)), error

    def forward(self, x):
        if next(self.left, None) is None:
            raise self.error
        return x


def prepared(passes=9, error=KeyboardInterrupt):
    """Return a model with gradients, a frozen weight, mixed modes and a hook."""
    model = Small()
    model.layers.append(Interrupted(passes, error))
    model.layers[3].weight.requires_grad_(False)
    model.layers[2].eval()
    model.layers[0].register_forward_hook(lambda *_: None)
    model.layers[0].weight.grad = torch.ones(8, 4)
    return model


@pytest.mark.parametrize("passes", [99, 0, 1, 3])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_nothing_is_other_afterwards_also_when_a_model_raises(passes, error):
    a, b = prepared(99), prepared(passes, error)
    b.layers[0].bias.data += 1
    before = bits(a), bits(b), small_batch()["x"]
    rng, batch = RngState.take(), small_batch()
    with pytest.raises(error) if passes < 9 else contextlib.nullcontext():
        compare(Pair(side(a, batch), side(b, batch), ("a", "b")))
    assert bits(a) == before[0]
    assert RngState.take() == rng
    assert bits(b) == before[1]
    assert torch.equal(batch["x"], before[2])
