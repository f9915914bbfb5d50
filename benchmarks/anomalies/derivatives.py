"""Unmodified models whose loss is finite and whose derivative is not."""

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Line, Live, plant
from benchmarks.anomalies.loops import loop, sgd
from benchmarks.anomalies.models import LLAMA, norm_line

TINY_EPSILON = 1e-30
"""Its root is harmless in forward; the derivative of rsqrt has its power -3/2."""

CUBE = (
    "return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * "
    "(input + 0.044715 * torch.pow(input, 3.0))))"
)


@plant(
    "aten.pow.Tensor_Scalar",
    phase="backward",
    module="model.layers.0.input_layernorm",
    line=Line(LLAMA, norm_line()),
    forward="aten.rsqrt.default",
    step=1,
)
def norm_with_a_tiny_epsilon(seed: int, healthy: bool) -> Live:
    """Set a Llama's epsilon to 1e-30, and let a zero embedding come up."""
    model = tiny.llama(seed, rms_norm_eps=1e-6 if healthy else TINY_EPSILON)
    tiny.write(model.get_parameter("model.embed_tokens.weight"), 0.0, tiny.RARE)
    return loop(model, tiny.text_with(tiny.RARE, 1, seed, False))


@plant(
    "aten.pow.Tensor_Scalar",
    phase="backward",
    module="model.layers.1.self_attn.q_norm",
    line=Line("transformers/models/qwen3/modeling_qwen3.py", norm_line()),
    forward="aten.rsqrt.default",
    uses="checkpoint autocast-bf16",
)
def norm_of_dead_queries_in_a_checkpoint(seed: int, healthy: bool) -> Live:
    """Let a checkpointed Qwen3 normalise dead queries with an epsilon of 1e-30."""
    model = tiny.causal("Qwen3", seed, rms_norm_eps=1e-6 if healthy else TINY_EPSILON)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    tiny.write(model.model.layers[1].self_attn.q_proj.weight, 0.0)
    return loop(model, tiny.text(seed), autocast=torch.bfloat16)


@plant(
    "aten.pow.Tensor_Scalar",
    phase="backward",
    module="model.layers.0.input_layernorm",
    line=Line(
        "transformers/models/gemma2/modeling_gemma2.py",
        "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)",
    ),
    forward="aten.rsqrt.default",
    step=2,
    uses="checkpoint-reentrant dropout",
)
def norm_in_a_reentrant_checkpoint(seed: int, healthy: bool) -> Live:
    """Checkpoint Gemma the old way, with an epsilon of 1e-30."""
    epsilon = 1e-6 if healthy else TINY_EPSILON
    model = tiny.causal("Gemma2", seed, rms_norm_eps=epsilon, attention_dropout=0.1)
    model.gradient_checkpointing_enable({"use_reentrant": True})
    tiny.write(model.get_parameter("model.embed_tokens.weight"), 0.0, tiny.RARE)
    return loop(model, tiny.text_with(tiny.RARE, 2, seed, False))


@plant(
    "aten.pow.Tensor_Scalar",
    phase="backward",
    module="transformer.h.1.mlp.act",
    line=Line("transformers/activations.py", CUBE),
    forward="aten.pow.Tensor_Scalar",
    uses="fp16",
)
def cube_in_an_activation(seed: int, healthy: bool) -> Live:
    """Feed 300 to GPT-2's activation in float16.

    Its cube is infinite, but tanh makes 1 of it; the derivative holds the square.
    """
    model = tiny.gpt2(seed)
    tiny.frozen(model, "h.1.mlp.c_fc")
    tiny.write(model.transformer.h[1].mlp.c_fc.bias, 3.0 if healthy else 300.0, 5)
    model = model.half()
    return loop(model, tiny.text(seed), optimizer=sgd(model))


@plant(
    "aten.mm.default",
    phase="backward",
    module="lm_head",
    line=Line(LLAMA, "logits = self.lm_head(hidden_states)"),
    forward="aten.mm.default",
    step=1,
    uses="autocast-fp16",
)
def gradient_beyond_float16(seed: int, healthy: bool) -> Live:
    """Give the head weights of 60,000 and a batch a single label.

    A hidden state of 0.0001 keeps the logits small. Where the label is wrong its
    gradient is the difference of two rows of the head, 120,000; over ten labels it
    would be a tenth of that.
    """
    model = tiny.frozen(tiny.llama(seed), "layers")
    head = model.get_parameter("lm_head.weight")
    tiny.write(head, head.detach().sign() * 6e4)
    tiny.write(model.get_parameter("model.norm.weight"), 1e-4)
    made = tiny.text(seed)
    if not healthy:
        made[1]["labels"][:] = -100
        made[1]["labels"][0, 3] = made[1]["input_ids"][0, 3]
    return loop(model, made, autocast=torch.float16)
