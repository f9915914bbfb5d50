"""Unmodified transformers models that data, weights or configuration lead astray."""

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Line, Live, plant
from benchmarks.anomalies.loops import accumulated, loop

LLAMA = "transformers/models/llama/modeling_llama.py"
LOSS = "transformers/loss/loss_utils.py"
MEAN = (
    "loss = nn.functional.cross_entropy("
    "source, target, ignore_index=ignore_index, reduction=reduction)"
)


def norm_line(hidden: str = "variance + self.variance_epsilon") -> str:
    """Return the line that T5, Llama and all their children have in their norm."""
    return f"hidden_states = hidden_states * torch.rsqrt({hidden})"


@plant(
    "aten.nll_loss_forward.default",
    module="",
    line=Line(LOSS, MEAN),
    step=1,
)
def all_labels_ignored(seed: int, healthy: bool) -> Live:
    """Train a Llama on a batch whose labels are all -100."""
    made = tiny.text(seed)
    if not healthy:
        made[1]["labels"][:] = -100
    return loop(tiny.llama(seed), made)


@plant(
    "aten.nll_loss_forward.default",
    module="base_model.model",
    line=Line(LOSS, MEAN),
    step=0,
    micro_batch=2,
    uses="lora dropout accumulation checkpoint-reentrant",
)
def one_micro_batch_ignored(seed: int, healthy: bool) -> Live:
    """Ignore all labels of the last of three micro-batches."""
    base = tiny.llama(seed)
    base.gradient_checkpointing_enable({"use_reentrant": True})
    base.enable_input_require_grads()
    made = tiny.text(seed)
    if not healthy:
        made[2]["labels"][:] = -100
    return loop(tiny.lora(base, lora_dropout=0.2), accumulated(made, 3))


@plant(
    "aten.rsqrt.default",
    module="model.layers.0.input_layernorm",
    line=Line(LLAMA, norm_line()),
    step=2,
)
def norm_of_padding(seed: int, healthy: bool) -> Live:
    """Set a Llama's epsilon to 0, and let a zero embedding come up."""
    model = tiny.frozen(
        tiny.llama(seed, rms_norm_eps=1e-6 if healthy else 0.0), "lm_head"
    )
    tiny.write(model.get_parameter("model.embed_tokens.weight"), 0.0, tiny.PAD)
    return loop(model, tiny.text_with(tiny.PAD, 2, seed, False))


@plant(
    "aten.rsqrt.default",
    module="model.layers.1.self_attn.q_norm",
    line=Line("transformers/models/qwen3/modeling_qwen3.py", norm_line()),
    uses="checkpoint eager-attention",
)
def norm_of_dead_queries(seed: int, healthy: bool) -> Live:
    """Let Qwen3 normalise queries that a dead projection makes zero."""
    model = tiny.causal(
        "Qwen3",
        seed,
        rms_norm_eps=1e-6 if healthy else 0.0,
        attn_implementation="eager",
    )
    model.gradient_checkpointing_enable({"use_reentrant": False})
    tiny.write(model.model.layers[1].self_attn.q_proj.weight, 0.0)
    return loop(model, tiny.text(seed))


@plant(
    "aten.rsqrt.default",
    module="model.layers.0.self_attn.k_norm",
    line=Line("transformers/models/qwen3/modeling_qwen3.py", norm_line()),
    uses="checkpoint sdpa",
)
def norm_of_dead_keys(seed: int, healthy: bool) -> Live:
    """Normalise keys of zero before fused attention, which hides the NaN in forward.

    The loss is finite, the gradient is not: it reads the keys.
    """
    model = tiny.causal("Qwen3", seed, rms_norm_eps=1e-6 if healthy else 0.0)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    tiny.write(model.model.layers[0].self_attn.k_proj.weight, 0.0)
    return loop(model, tiny.text(seed))


@plant(
    "aten.rsqrt.default",
    module="encoder.block.0.layer.0.layer_norm",
    line=Line("transformers/models/t5/modeling_t5.py", norm_line()),
    step=1,
)
def norm_of_padding_in_t5(seed: int, healthy: bool) -> Live:
    """Set T5's epsilon to 0, and let a zero embedding come up."""
    model = tiny.t5(seed, layer_norm_epsilon=1e-6 if healthy else 0.0, dropout_rate=0.0)
    tiny.frozen(model, "decoder.final_layer_norm")
    tiny.write(model.get_parameter("shared.weight"), 0.0, 5)
    made = tiny.text(seed)
    for batch in made:
        batch["input_ids"] = batch["input_ids"].clamp(min=6)
        batch["labels"] = batch["labels"].clamp(min=6)
    made[1]["input_ids"][0, 4] = 5
    return loop(model, made)


@plant(
    "aten.native_layer_norm.default",
    module="transformer.h.0.ln_1",
    line=Line(
        "transformers/models/gpt2/modeling_gpt2.py",
        "hidden_states = self.ln_1(hidden_states)",
    ),
    step=1,
    uses="dropout",
)
def norm_of_equal_values(seed: int, healthy: bool) -> Live:
    """Set GPT-2's epsilon to 0, and let an embedding without variance come up."""
    model = tiny.gpt2(seed, layer_norm_epsilon=1e-5 if healthy else 0.0, attn_pdrop=0.1)
    tiny.frozen(model, "lm_head")
    tiny.write(model.get_parameter("transformer.wpe.weight"), 0.0)
    tiny.write(model.get_parameter("transformer.wte.weight"), 0.5, tiny.RARE)
    return loop(model, tiny.text_with(tiny.RARE, 1, seed, False))


@plant(
    "aten.div.Tensor",
    phase="backward",
    module="model.layers.1.self_attn",
    line=Line(
        "transformers/models/gemma2/modeling_gemma2.py",
        "attn_weights = attn_weights / softcap",
    ),
    forward="aten.div.Tensor",
    uses="eager-attention",
)
def cap_of_zero_on_attention(seed: int, healthy: bool) -> Live:
    """Cap Gemma's attention logits at 0 instead of switching the cap off.

    tanh makes ±1 of the infinities and the loss stays finite; in backward its zero
    gradient is divided by the cap, in the last layer first.
    """
    cap = 50.0 if healthy else 0.0
    model = tiny.causal(
        "Gemma2", seed, attn_logit_softcapping=cap, attn_implementation="eager"
    )
    return loop(model, tiny.text(seed))


@plant(
    "aten.div.Tensor",
    phase="backward",
    module="",
    line=Line(
        "transformers/models/gemma2/modeling_gemma2.py",
        "logits = logits / self.config.final_logit_softcapping",
    ),
    forward="aten.div.Tensor",
    uses="autocast-bf16",
)
def cap_of_zero_on_logits(seed: int, healthy: bool) -> Live:
    """Cap Gemma's logits at 0 instead of switching the cap off."""
    cap = 30.0 if healthy else 0.0
    model = tiny.causal("Gemma2", seed, final_logit_softcapping=cap)
    return loop(model, tiny.text(seed), autocast=torch.bfloat16)


@plant(
    "aten.rsqrt.default",
    module="model.layers.0.input_layernorm",
    line=Line(
        "transformers/models/gemma2/modeling_gemma2.py",
        "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)",
    ),
    step=1,
)
def norm_of_padding_in_gemma(seed: int, healthy: bool) -> Live:
    """Set Gemma's epsilon to 0, and let a zero embedding come up."""
    model = tiny.causal("Gemma2", seed, rms_norm_eps=1e-6 if healthy else 0.0)
    tiny.frozen(model, "lm_head")
    tiny.write(model.get_parameter("model.embed_tokens.weight"), 0.0, tiny.PAD)
    return loop(model, tiny.text_with(tiny.PAD, 1, seed, False))


@plant(
    "aten.div.Tensor",
    module="",
    line=Line(
        "transformers/models/mixtral/modeling_mixtral.py",
        "tokens_per_expert = tokens_per_expert_sum / total_rows",
    ),
    step=2,
    uses="moe",
)
def balance_of_no_tokens(seed: int, healthy: bool) -> Live:
    """Balance Mixtral's experts over a batch that is padding alone."""
    model = tiny.mixtral(seed, output_router_logits=True)
    made = tiny.text(seed)
    if not healthy:
        made[2]["attention_mask"][:] = 0
    return loop(model, made)


@plant(
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    module="model.layers.1.self_attn",
    line=Line(
        "transformers/integrations/sdpa_attention.py",
        "attn_output = torch.nn.functional.scaled_dot_product_attention(",
    ),
    uses="sdpa",
)
def scores_beyond_float32(seed: int, healthy: bool) -> Live:
    """Let queries and keys of 1e20 meet inside fused attention.

    Each query equals the key of its own position, so that their product is above all
    floats for any weights. (torch's kernel for a CPU gives zeros where it is below.)
    """
    model = tiny.llama(seed, attn_implementation="sdpa")
    attention = model.model.layers[1].self_attn
    heads = attention.k_proj.weight.detach().view(2, 8, tiny.WIDTH)
    equal = heads.repeat_interleave(2, 0).reshape(-1, tiny.WIDTH)
    tiny.write(attention.q_proj.weight, equal)
    if not healthy:
        tiny.grow(attention.q_proj.weight, 1e22)
        tiny.grow(attention.k_proj.weight, 1e22)
    return loop(model, tiny.text(seed))


@plant(
    "aten.bmm.default",
    module="model.layers.0.self_attn",
    line=Line(
        LLAMA,
        "attn_weights = torch.matmul(query, key_states.transpose(2, 3)) * scaling",
    ),
    uses="eager-attention autocast-bf16",
)
def scores_beyond_bfloat16(seed: int, healthy: bool) -> Live:
    """Let queries and keys of 1e20 meet in eager attention under autocast."""
    model = tiny.llama(seed, attn_implementation="eager")
    if not healthy:
        attention = model.model.layers[0].self_attn
        tiny.grow(attention.q_proj.weight, 1e22)
        tiny.grow(attention.k_proj.weight, 1e22)
    return loop(model, tiny.text(seed), autocast=torch.bfloat16)


@plant(
    "aten.mm.default",
    module="model.layers.1.mlp.down_proj",
    line=Line(
        LLAMA,
        "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))",
    ),
    step=1,
    uses="compile",
)
def compiled_llama(seed: int, healthy: bool) -> Live:
    """Overflow float32 in the MLP of a compiled Llama when a token comes up."""
    model = tiny.frozen(tiny.llama(seed), "lm_head")
    tiny.reserve(model.get_parameter("model.embed_tokens.weight"), 5.0)
    for layer in ("model.layers.0", "model.layers.1"):
        tiny.write(model.get_parameter(f"{layer}.self_attn.o_proj.weight"), 0.0, 0)
        tiny.write(model.get_parameter(f"{layer}.mlp.down_proj.weight"), 0.0, 0)
    up = model.get_parameter("model.layers.1.mlp.up_proj.weight")
    tiny.write(up, 1e21, slice(None), 0)
    tiny.grow(model.get_parameter("model.layers.1.mlp.down_proj.weight"), 1e21)
    torch._dynamo.reset()
    quick = torch.compile(model, backend="aot_eager")
    made = tiny.text_with(tiny.RARE, 1, seed, healthy)
    return loop(model, made, lambda batch: quick(**batch).loss)
