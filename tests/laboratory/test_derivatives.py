"""Fifteen wrong backwards with the likely reason, and fifteen right ones."""

import math

import pytest
import torch
from torch.nn import functional
from transformers.models.llama import modeling_llama
from transformers.models.mistral import modeling_mistral
from transformers.models.qwen2 import modeling_qwen2
from transformers.models.t5 import modeling_t5

import ftlab
from ftlab.records.errors import BadValueError


def op(forward, backward):
    """Make an operation of a forward and a backward, which gets what was put in."""

    class Op(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return backward(grad, *ctx.saved_tensors)

    return Op.apply


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


X, W = random(4, 4), random(4, 4, seed=1)


def softmax_without_its_sum(grad, x):
    return grad * x.softmax(-1)


def norm_without_its_mean(grad, x):
    return grad / x.norm(dim=-1, keepdim=True)


def doubling(grad, x):
    out = grad * 2 * x
    x.data.mul_(2)
    return out


def half(grad, x):
    return (grad.half() * (2 * x).half()).to(x.dtype)


def writing(grad, x):
    return grad * 2 * x.mul_(1)


WRONG = {
    "writes and is noticed": (
        op(lambda x: x**2, writing),
        (X,),
        "a second backward gives something else",
    ),
    "sign": (op(torch.sin, lambda g, x: -g * x.cos()), (X,), "the sign is wrong"),
    "factor of a power": (
        op(lambda x: x**3, lambda g, x: g * x**2),
        (X,),
        "it is 0.3333 times",
    ),
    "sum for a mean": (
        op(lambda x: x.mean(), lambda g, x: g * torch.ones_like(x)),
        (X,),
        "it is 16 times",
    ),
    "scale left out": (
        op(lambda q, k: q @ k.T / 2, lambda g, q, k: (g @ k, g.T @ q)),
        (X, W),
        "it is 2 times",
    ),
    "softmax without its sum": (
        op(lambda x: x.softmax(-1), softmax_without_its_sum),
        (X,),
        "through a reduction",
    ),
    "norm without its mean": (
        op(lambda x: x / x.norm(dim=-1, keepdim=True), norm_without_its_mean),
        (X,),
        "through a reduction",
    ),
    "residual left out": (
        op(lambda x: x + x.sin(), lambda g, x: g * x.cos()),
        (X,),
        "the input itself is missing: 1 times",
    ),
    "transposed": (
        op(lambda x, w: x @ w, lambda g, x, w: (g @ w.T, (x.T @ g).T)),
        (X, W),
        "dimensions have changed places",
    ),
    "exchanged": (
        op(lambda x, w: x * w, lambda g, x, w: (g * x, g * w)),
        (X, W),
        "the gradient of input 1",
    ),
    "writes to what was saved": (
        op(lambda x: x**2, doubling),
        (X,),
        "a second backward gives something else",
    ),
    "ignores the output's gradient": (
        op(lambda x: x**2, lambda _, x: 2 * x),
        (X,),
        "twice the output's gradient",
    ),
    "zero": (
        op(torch.exp, lambda _, x: torch.zeros_like(x)),
        (X,),
        "gives 0 throughout",
    ),
    "none for one input": (
        op(lambda x, w: x * w, lambda g, _, w: (g * w, None)),
        (X, W),
        "it is None",
    ),
    "another condition": (
        op(functional.relu, lambda g, x: g * (x > 0.5)),
        (X,),
        "a branch or a mask differs",
    ),
    "half precision": (op(lambda x: x**2, half), (X,), "the precision of float16"),
    "not a number": (
        op(
            lambda x: x.abs().sqrt(),
            lambda g, x: g * x.sign() / (x.abs() - x.abs()).sqrt() * 0,
        ),
        (X,),
        "NaN or infinity",
    ),
    "of another shape": (
        op(lambda x, b: x + b, lambda g, *_: (g, g[:, :2])),
        (X, random(4)),
        "backward raises RuntimeError",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_backward_is_told_with_its_reason(name):
    function, inputs, reason = WRONG[name]
    found = ftlab.gradcheck(function, inputs)
    assert not found.ok
    wrong = [each for each in found.summary.each if each.state == "wrong"]
    assert any(reason in each.reason for each in wrong), found


class Rotary(torch.nn.Module):
    """Rotates pairs of elements."""

    def forward(self, x):
        angle = torch.arange(x.shape[0], dtype=x.dtype)[:, None]
        first, second = x.chunk(2, -1)
        return torch.cat(
            (
                first * angle.cos() - second * angle.sin(),
                first * angle.sin() + second * angle.cos(),
            ),
            -1,
        )


class Norm(torch.nn.Module):
    """RMSNorm."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Gated(torch.nn.Module):
    """SwiGLU."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.gate, self.up = torch.nn.Linear(4, 6), torch.nn.Linear(4, 6)

    def forward(self, x):
        return functional.silu(self.gate(x)) * self.up(x)


def cut(value):
    return value.clamp(-10, 10)


RIGHT = {
    "cube": (op(lambda x: x**3, lambda g, x: g * 3 * x**2), (X,)),
    "softmax": (
        op(
            lambda x: x.softmax(-1),
            lambda g, x: (s := x.softmax(-1)) * (g - (g * s).sum(-1, keepdim=True)),
        ),
        (X,),
    ),
    "matmul": (op(lambda x, w: x @ w, lambda g, x, w: (g @ w.T, x.T @ g)), (X, W)),
    "gelu": (functional.gelu, (X,)),
    "layer norm": (torch.nn.LayerNorm(4), (X,)),
    "rms norm": (Norm(), (X,)),
    "rotary": (Rotary(), (X,)),
    "gated": (Gated(), (X,)),
    "attention": (functional.scaled_dot_product_attention, (X[None], W[None], X[None])),
    "dropout": (lambda x: functional.dropout(x, 0.5), (X,)),
    "embedding": (torch.nn.Embedding(8, 4), (torch.tensor([1, 5]),)),
    "cross entropy": (functional.cross_entropy, (X, torch.tensor([0, 3, 1, 2]))),
    "clamp": (cut, (X,)),
    "large": (torch.nn.Linear(40, 40), (random(3, 40),)),
    "unused input": (lambda x, _: x.sin(), (X, W)),
    "checkpointed": (
        lambda x: torch.utils.checkpoint.checkpoint(torch.tanh, x, use_reentrant=False),
        (X,),
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_backward_passes(name):
    function, inputs = RIGHT[name]
    found = ftlab.gradcheck(function, inputs)
    assert found.ok, found


def test_a_kink_is_no_wrong_backward():
    found = ftlab.gradcheck(functional.relu, torch.tensor([0.0, 1.0, -2.0]))
    (each,) = found.summary.each
    assert each.state == "not differentiable here"
    assert (each.element, each.wrong) == ((0,), 1)


def test_values_of_few_bits_are_compared_coarsely():
    assert ftlab.gradcheck(lambda x: x.float().sin(), X).ok
    wrong = ftlab.gradcheck(
        op(lambda x: x.float().sin().double(), lambda g, x: -g * x.cos()), X
    )
    assert wrong.summary.each[0].reason == "the sign is wrong"


def in_bfloat16(x):
    low = x.bfloat16()
    return (low * torch.rsqrt(low.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


CASTING = {
    "llama": modeling_llama.LlamaRMSNorm(8),
    "mistral": modeling_mistral.MistralRMSNorm(8),
    "qwen2": modeling_qwen2.Qwen2RMSNorm(8),
    "t5": modeling_t5.T5LayerNorm(8),
    "softmax in bfloat16": lambda x: x.bfloat16().softmax(-1).to(x.dtype),
    "sine in bfloat16": lambda x: x.bfloat16().sin().to(x.dtype) * 1.3,
    "norm in bfloat16": in_bfloat16,
    "softmax in float16": lambda x: x.half().softmax(-1).to(x.dtype),
}


@pytest.mark.parametrize("name", CASTING)
def test_a_cast_within_is_no_wrong_backward(name):
    function = CASTING[name]
    for seed in range(20):
        found = ftlab.gradcheck(function, random(2, 8, seed=seed))
        assert found.ok, (seed, found)


def test_a_wrong_backward_beside_a_cast_is_found():
    def forward(x):
        return x.bfloat16().sin().to(x.dtype) * 1.3

    found = ftlab.gradcheck(op(forward, lambda g, x: -1.3 * g * x.cos()), X)
    assert found.summary.each[0].reason == "the sign is wrong"


@pytest.mark.parametrize(
    ("function", "inputs", "says"),
    [
        (lambda x: x.add_(1) * 2, (X,), "forward writes to its input 0"),
        (torch.log, (torch.tensor([-1.0]),), "its values are NaN for these inputs"),
        (lambda x: x.detach() * 2, (X,), "no output has a graph"),
        (lambda x: x.argmax(-1), (X,), "returns no floating-point tensor"),
        (lambda x: x * 2, (torch.tensor([1, 2]),), "no floating-point input"),
    ],
)
def test_what_hinders_every_comparison_is_said(function, inputs, says):
    found = ftlab.gradcheck(function, inputs)
    assert not found.ok
    assert says in repr(found)


def test_nothing_of_the_users_changes():
    module, x = torch.nn.Linear(4, 4), X.clone()
    state = torch.get_rng_state()
    ftlab.gradcheck(module, {"input": x})
    assert module.weight.dtype == torch.float32
    assert module.weight.grad is None
    assert torch.equal(x, X)
    assert torch.equal(torch.get_rng_state(), state)


GLOBAL = torch.nn.Linear(4, 4)


def test_modules_that_a_function_uses_are_copied_too():
    linear, weight = torch.nn.Linear(4, 4), torch.nn.Parameter(torch.ones(4))
    for function in (
        lambda x: linear(x),
        lambda x: GLOBAL(x) * weight,
        linear.forward,
        lambda x, *, scale=2.0: linear(x) * scale,
    ):
        found = ftlab.gradcheck(function, X)
        assert found.ok, found
    assert linear.weight.dtype == GLOBAL.weight.dtype == weight.dtype == torch.float32
    assert linear.weight.grad is weight.grad is GLOBAL.weight.grad is None


def test_dtypes_that_mix_are_refused_with_what_to_pass():
    held = [torch.nn.Linear(4, 4)]
    with pytest.raises(BadValueError, match=r"in float64 \(.*pass the module itself"):
        ftlab.gradcheck(lambda x: held[0](x), X)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(BadValueError, match="function is a Tensor, which cannot"):
        ftlab.gradcheck(X, X)


def test_all_forms_show_it():
    function, inputs, _ = WRONG["sign"]
    view = ftlab.gradcheck(function, inputs)
    assert view.table()["reason"].tolist() == ["the sign is wrong"]
    assert view.figure().axes
    assert "the sign is wrong" in view.widget().value
    assert not math.isnan(view.table()["numeric"][0])
