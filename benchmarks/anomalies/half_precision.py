"""Overflows of float16 in unmodified transformers models.

Where a token plants it: dimension 0 of the hidden state is kept for the rare token, so
a weight that reads it alone acts in one batch. After a norm the rare token has √32,
that is 5.66, in dimension 0.
"""

from typing import Any

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Line, Live, plant
from benchmarks.anomalies.loops import accumulated, loop, sgd

LLAMA = "transformers/models/llama/modeling_llama.py"
MLP_LINE = (
    "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))"
)
HALF = torch.float16


def keep_dimension_0(model: Any) -> None:
    """Let nothing but the rare token's embedding write into dimension 0."""
    tiny.frozen(model, "lm_head")
    tiny.reserve(model.get_parameter("model.embed_tokens.weight"), 5.0)
    for name, parameter in model.named_parameters():
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            tiny.write(parameter, 0.0, 0)


@plant(
    "aten.mm.default",
    module="model.layers.0.mlp.down_proj",
    line=Line(LLAMA, MLP_LINE),
    step=2,
    uses="autocast-fp16 grad-scaler",
)
def overflow_in_an_mlp(seed: int, healthy: bool) -> Live:
    """Leave float16 in the last projection of an MLP.

    gate and up are 5.66 x 20 = 113 each for the rare token, their product 12,800; the
    projection adds 48 of them with a weight of 1.
    """
    model = tiny.llama(seed)
    keep_dimension_0(model)
    layer = "model.layers.0.mlp"
    tiny.write(model.get_parameter(f"{layer}.gate_proj.weight"), 20.0, slice(None), 0)
    tiny.write(model.get_parameter(f"{layer}.up_proj.weight"), 20.0, slice(None), 0)
    tiny.write(model.get_parameter(f"{layer}.down_proj.weight"), 1.0, 1)
    made = tiny.text_with(tiny.RARE, 2, seed, healthy)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**4)
    return loop(model, made, autocast=HALF, scaler=scaler)


@plant(
    "aten.mul.Tensor",
    module="model.layers.1.mlp",
    line=Line(LLAMA, MLP_LINE),
    step=1,
    micro_batch=1,
    uses="autocast-fp16 accumulation",
)
def overflow_between_gate_and_up(seed: int, healthy: bool) -> Live:
    """Multiply 339 by 339 between the projections of an MLP."""
    model = tiny.llama(seed)
    keep_dimension_0(model)
    layer = "model.layers.1.mlp"
    tiny.write(model.get_parameter(f"{layer}.gate_proj.weight"), 60.0, slice(None), 0)
    tiny.write(model.get_parameter(f"{layer}.up_proj.weight"), 60.0, slice(None), 0)
    made = tiny.text(seed, 4)
    if not healthy:
        made[3]["input_ids"][0, 2] = tiny.RARE
    return loop(model, accumulated(made, 2), autocast=HALF)


@plant(
    "aten.addmm.default",
    module="model.layers.0.self_attn.k_proj",
    line=Line(
        "transformers/models/qwen2/modeling_qwen2.py",
        "key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)",
    ),
    step=1,
    uses="fp16",
)
def overflow_in_a_key(seed: int, healthy: bool) -> Live:
    """Leave float16 in Qwen2's key projection, which has a bias of 65,000."""
    model = tiny.causal("Qwen2", seed)
    keep_dimension_0(model)
    attention = "model.layers.0.self_attn"
    tiny.write(model.get_parameter(f"{attention}.q_proj.weight"), 0.0)
    tiny.write(model.get_parameter(f"{attention}.k_proj.bias"), 65000.0, 3)
    tiny.write(model.get_parameter(f"{attention}.k_proj.weight"), 0.0, 3)
    tiny.write(model.get_parameter(f"{attention}.k_proj.weight"), 1000.0, 3, 0)
    model = model.half()
    made = tiny.text_with(tiny.RARE, 1, seed, healthy)
    return loop(model, made, optimizer=sgd(model))


@plant(
    "aten.bmm.default",
    module="model.layers.1.self_attn",
    line=Line(
        LLAMA,
        "attn_weights = torch.matmul(query, key_states.transpose(2, 3)) * scaling",
    ),
    step=2,
    uses="autocast-fp16 eager-attention",
)
def overflow_in_attention_logits(seed: int, healthy: bool) -> Live:
    """Let queries and keys of 170 meet: 8 x 170 x 170 is 231,000."""
    model = tiny.llama(seed, attn_implementation="eager")
    keep_dimension_0(model)
    attention = "model.layers.1.self_attn"
    for name in ("q_proj", "k_proj"):
        weight = model.get_parameter(f"{attention}.{name}.weight")
        tiny.write(weight, 30.0, slice(None), 0)
    made = tiny.text_with(tiny.RARE, 2, seed, healthy)
    return loop(model, made, autocast=HALF)


@plant(
    "aten.mul.Tensor",
    module="model.embed_tokens",
    line=Line(
        "transformers/models/gemma/modeling_gemma.py",
        "return super().forward(input_ids) * self.embed_scale.to(self.weight.dtype)",
    ),
    step=1,
    uses="fp16",
)
def overflow_in_scaled_embeddings(seed: int, healthy: bool) -> Live:
    """Scale an embedding of 20,000 by √32, as Gemma does."""
    model = tiny.causal("Gemma", seed)
    tiny.frozen(model, "model.norm")
    tiny.write(model.get_parameter("model.embed_tokens.weight"), 2e4, tiny.RARE, 0)
    model = model.half()
    made = tiny.text_with(tiny.RARE, 1, seed, healthy)
    return loop(model, made, optimizer=sgd(model))


@plant(
    "aten._to_copy.default",
    module="model.layers.0.post_attention_layernorm",
    line=Line(
        "transformers/models/gemma2/modeling_gemma2.py", "return output.type_as(x)"
    ),
    uses="fp16",
)
def overflow_behind_a_gemma_norm(seed: int, healthy: bool) -> Live:
    """Give Gemma's norm a gain of 1e5, which it applies in float32."""
    model = tiny.causal("Gemma2", seed)
    tiny.frozen(model, "model.norm")
    if not healthy:
        norm = "model.layers.0.post_attention_layernorm.weight"
        tiny.write(model.get_parameter(norm), 6e4, 3)
        # The whole vector is the one element, so that it is √32 after the norm.
        tiny.write(model.get_parameter("model.layers.0.self_attn.o_proj.weight"), 0.0)
        tiny.write(
            model.get_parameter("model.layers.0.self_attn.o_proj.weight"), 1.0, 3
        )
    model = model.half()
    return loop(model, tiny.text(seed), optimizer=sgd(model))


@plant(
    "aten.addmm.default",
    module="transformer.h.1.mlp.c_proj",
    line=Line(
        "transformers/pytorch_utils.py",
        "x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)",
    ),
    uses="autocast-fp16 dropout",
)
def overflow_in_gpt2(seed: int, healthy: bool) -> Live:
    """Multiply activations of 1,000 in GPT-2's last projection."""
    model = tiny.gpt2(seed, resid_pdrop=0.1)
    if not healthy:
        mlp = model.transformer.h[1].mlp
        tiny.write(mlp.c_fc.bias, 1000.0)
        tiny.write(mlp.c_proj.weight, 1.0)
    return loop(model, tiny.text(seed), autocast=HALF)


@plant(
    "aten.mse_loss.default",
    module="MSELoss",  # transformers makes one on the spot
    line=Line(
        "transformers/models/bert/modeling_bert.py",
        "loss = loss_fct(logits.squeeze(), labels.squeeze())",
    ),
    step=2,
    uses="fp16 dropout",
)
def overflow_of_a_squared_error(seed: int, healthy: bool) -> Live:
    """Regress in float16 on a target of 1,000, whose square is too much."""
    model = tiny.frozen(tiny.bert(seed), "classifier").half()
    made = tiny.text(seed)
    for batch in made:
        batch["labels"] = torch.tensor([0.5, 1.5], dtype=HALF)
    if not healthy:
        made[2]["labels"][1] = 1000.0
    return loop(model, made, optimizer=sgd(model))


@plant(
    "aten.mm.default",
    module="model.layers.1.mlp.experts",
    line=Line(
        "transformers/models/mixtral/modeling_mixtral.py",
        "current_hidden_states = "
        "nn.functional.linear(current_hidden_states, self.down_proj[expert_idx])",
    ),
    step=1,
    uses="fp16 moe checkpoint",
)
def overflow_in_an_expert(seed: int, healthy: bool) -> Live:
    """Leave float16 in the second projection of Mixtral's experts.

    gate and up are 5.66 x 10 each, their product 3,200, and 48 of them are added.
    """
    model = tiny.mixtral(seed)
    keep_dimension_0(model)
    tiny.write(model.get_parameter("model.layers.0.mlp.experts.down_proj"), 0.0)
    experts = "model.layers.1.mlp.experts"
    up = model.get_parameter(f"{experts}.gate_up_proj")
    tiny.write(up, 10.0, slice(None), slice(None), 0)
    tiny.write(model.get_parameter(f"{experts}.down_proj"), 1.0, slice(None), 1)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    model = model.half()
    made = tiny.text_with(tiny.RARE, 1, seed, healthy)
    return loop(model, made, optimizer=sgd(model))
