"""What was broken before the run: weights, buffers and data, in unmodified models.

The operation is the first that reads the broken value.
"""

import tempfile

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Line, Live, plant
from benchmarks.anomalies.loops import accumulated, loop

LLAMA = "transformers/models/llama/modeling_llama.py"
MLP_LINE = (
    "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))"
)
NAN, INF = float("nan"), float("inf")


@plant(
    "aten.mm.default",
    module="model.layers.1.mlp.up_proj",
    kind="parameter",
    name="model.layers.1.mlp.up_proj.weight",
    line=Line(LLAMA, MLP_LINE),
)
def nan_in_a_checkpoint(seed: int, healthy: bool) -> Live:
    """Load a checkpoint in which one weight is NaN."""
    from transformers import AutoModelForCausalLM

    model = tiny.llama(seed)
    if not healthy:
        tiny.write(model.model.layers[1].mlp.up_proj.weight, NAN, 3, 5)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return loop(model.train(), tiny.text(seed))


@plant(
    "aten._to_copy.default",
    module="model.layers.0.self_attn.k_proj",
    kind="parameter",
    name="model.layers.0.self_attn.k_proj.weight",
    line=Line(
        LLAMA,
        "key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)",
    ),
    uses="autocast-bf16 checkpoint",
)
def infinite_weight_under_autocast(seed: int, healthy: bool) -> Live:
    """Train a model with an infinite weight, which autocast is the first to read."""
    model = tiny.llama(seed)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    if not healthy:
        tiny.write(model.model.layers[0].self_attn.k_proj.weight, INF, 0, 0)
    return loop(model, tiny.text(seed), autocast=torch.bfloat16)


@plant(
    "aten.embedding.default",
    module="model.embed_tokens",
    kind="parameter",
    name="model.embed_tokens.weight",
    line=Line(LLAMA, "inputs_embeds: torch.Tensor = self.embed_tokens(input_ids)"),
    step=2,
)
def broken_row_of_a_rare_token(seed: int, healthy: bool) -> Live:
    """Have NaN in the embedding of a token that comes up in the third step."""
    model = tiny.frozen(tiny.llama(seed), "mlp")
    tiny.write(model.get_parameter("model.embed_tokens.weight"), NAN, tiny.RARE)
    return loop(model, tiny.text_with(tiny.RARE, 2, seed, healthy))


@plant(
    "aten.mul.Tensor",
    module="model.norm",
    kind="parameter",
    name="model.norm.weight",
    line=Line(LLAMA, "return self.weight * hidden_states.to(input_dtype)"),
    uses="eager-attention",
)
def infinite_gain(seed: int, healthy: bool) -> Live:
    """Have an infinite gain in the last norm."""
    model = tiny.llama(seed, attn_implementation="eager")
    if not healthy:
        tiny.write(model.model.norm.weight, INF, 7)
    return loop(model, tiny.text(seed))


@plant(
    "aten.mul.Tensor",
    module="model.rotary_emb",
    kind="buffer",
    name="model.rotary_emb.inv_freq",
    line=Line(
        LLAMA,
        "freqs = position_ids[..., None].float() * "
        "self.inv_freq.to(device=x.device, dtype=torch.float)",
    ),
)
def rotary_base_of_zero(seed: int, healthy: bool) -> Live:
    """Configure rotary embeddings with a base of 0: all but one frequency is Inf."""
    base = 1e4 if healthy else 0.0
    rope = {"rope_type": "default", "rope_theta": base}
    model = tiny.llama(seed, rope_parameters=rope)
    return loop(model, tiny.text(seed))


@plant(
    "aten.mse_loss.default",
    module="MSELoss",  # transformers makes one on the spot
    kind="batch",
    name="labels",
    line=Line(
        "transformers/models/bert/modeling_bert.py",
        "loss = loss_fct(logits.squeeze(), labels.squeeze())",
    ),
    step=1,
    uses="dropout",
)
def nan_among_the_targets(seed: int, healthy: bool) -> Live:
    """Regress with BERT on targets of which one is NaN."""
    model = tiny.bert(seed)
    made = tiny.text(seed)
    for batch in made:
        batch["labels"] = torch.tensor([0.5, 1.5])
    if not healthy:
        made[1]["labels"][1] = NAN
    return loop(model, made)


@plant(
    "aten._to_copy.default",
    module="model.layers.0.input_layernorm",
    kind="batch",
    name="inputs_embeds",
    line=Line(LLAMA, "hidden_states = hidden_states.to(torch.float32)"),
    step=1,
    micro_batch=1,
    uses="accumulation bf16",
)
def nan_among_soft_prompts(seed: int, healthy: bool) -> Live:
    """Feed embeddings instead of tokens, of which one element is NaN."""
    model = tiny.llama(seed).bfloat16()
    generator = torch.Generator().manual_seed(seed)
    made = tiny.text(seed, 4)
    for batch in made:
        shape = (*batch.pop("input_ids").shape, tiny.WIDTH)
        batch["inputs_embeds"] = torch.randn(shape, generator=generator).bfloat16()
    if not healthy:
        made[3]["inputs_embeds"][0, 2, 9] = NAN
    return loop(model, accumulated(made, 2))


@plant(
    "aten.mm.default",
    module="model.layers.0.mlp.experts",
    kind="parameter",
    name="model.layers.0.mlp.experts.down_proj",
    line=Line(
        "transformers/models/mixtral/modeling_mixtral.py",
        "current_hidden_states = "
        "nn.functional.linear(current_hidden_states, self.down_proj[expert_idx])",
    ),
    step=2,
    uses="moe",
)
def nan_in_a_rare_expert(seed: int, healthy: bool) -> Live:
    """Have NaN in an expert that the router picks in the third step only."""
    model = tiny.frozen(tiny.mixtral(seed, num_experts_per_tok=1), "lm_head", "norm")
    tiny.reserve(model.get_parameter("model.embed_tokens.weight"), 5.0)
    router = model.get_parameter("model.layers.0.mlp.gate.weight")
    # Dimension 0 alone leads to expert 3; nothing writes into it on the way.
    tiny.write(model.get_parameter("model.layers.0.self_attn.o_proj.weight"), 0.0, 0)
    tiny.write(router, 0.0, 3)
    tiny.write(router, 10.0, 3, 0)
    # Of two opposite experts one is always above 0, which is what expert 3 gets.
    tiny.write(router, -router[1].detach(), 0)
    tiny.write(model.get_parameter("model.layers.0.mlp.experts.down_proj"), NAN, 3, 1)
    return loop(model, tiny.text_with(tiny.RARE, 2, seed, healthy))


@plant(
    "bitsandbytes.gemm_4bit.default",
    module="base_model.model.model.layers.1.mlp.gate_proj",
    kind="parameter",
    name="base_model.model.model.layers.1.mlp.gate_proj.weight",
    line=Line(
        "bitsandbytes/autograd/_functions.py",
        "output = torch.ops.bitsandbytes.gemm_4bit.default(",
    ),
    uses="4bit lora",
)
def infinite_scale_of_a_4bit_weight(seed: int, healthy: bool) -> Live:
    """Have an infinite block scale in a weight of 4 bits."""
    with tempfile.TemporaryDirectory() as folder:
        base = tiny.in_4bit(folder, seed)
    if not healthy:
        weight = base.model.layers[1].mlp.gate_proj.weight
        tiny.write(weight.quant_state.absmax, INF, 0)
    return loop(tiny.lora(base), tiny.text(seed))
