"""Unmodified PEFT adapters that weights or configuration lead astray."""

import tempfile
from typing import Any

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Line, Live, plant
from benchmarks.anomalies.loops import accumulated, loop

ROOT = "base_model.model.model.layers"
LORA_LINE = "result = result + lora_B(lora_A(dropout(x))) * scaling"
NAN = float("nan")


@plant(
    "aten.mul.Tensor",
    module=f"{ROOT}.0.self_attn.q_proj",
    line=Line("peft/tuners/lora/layer.py", LORA_LINE),
    uses="lora autocast-fp16 dropout",
)
def alpha_beyond_float16(seed: int, healthy: bool) -> Live:
    """Configure LoRA with alpha = 10,000,000 under autocast to float16."""
    alpha = 8 if healthy else 10_000_000
    model = tiny.lora(
        tiny.llama(seed), lora_alpha=alpha, init_lora_weights=False, lora_dropout=0.1
    )
    return loop(model, tiny.text(seed), autocast=torch.float16)


@plant(
    "aten.mm.default",
    module=f"{ROOT}.1.self_attn.v_proj.lora_B.default",
    kind="parameter",
    name=f"{ROOT}.1.self_attn.v_proj.lora_B.default.weight",
    line=Line("peft/tuners/lora/layer.py", LORA_LINE),
    uses="lora",
)
def nan_in_a_saved_adapter(seed: int, healthy: bool) -> Live:
    """Load a LoRA adapter from a file in which one weight is NaN."""
    from peft import PeftModel

    saved = tiny.lora(tiny.llama(seed))
    if not healthy:
        name = f"{ROOT}.1.self_attn.v_proj.lora_B.default.weight"
        tiny.write(saved.get_parameter(name), NAN, 2, 1)
    with tempfile.TemporaryDirectory() as folder:
        saved.save_pretrained(folder)
        base = tiny.llama(seed)
        model: Any = PeftModel.from_pretrained(base, folder, is_trainable=True)
    return loop(model.train(), tiny.text(seed))


@plant(
    "aten.div.Tensor",
    module=f"{ROOT}.1.mlp.down_proj.lora_magnitude_vector.default",
    line=Line(
        "peft/tuners/lora/dora.py",
        "mag_norm_scale = (magnitude / weight_norm).view(1, -1)",
    ),
    uses="dora",
)
def dora_on_a_pruned_neuron(seed: int, healthy: bool) -> Live:
    """Put DoRA on a projection with a row of zeros, which has no direction."""
    base = tiny.llama(seed)
    if not healthy:
        tiny.write(base.model.layers[1].mlp.down_proj.weight, 0.0, 4)
    return loop(tiny.lora(base, use_dora=True), tiny.text(seed))


@plant(
    "aten.div.Tensor",
    module=f"{ROOT}.0.self_attn.q_proj.lora_magnitude_vector.default",
    line=Line(
        "peft/tuners/lora/dora.py",
        "mag_norm_scale = (magnitude / weight_norm).view(1, -1)",
    ),
    uses="dora autocast-bf16 checkpoint accumulation",
)
def dora_on_a_pruned_head(seed: int, healthy: bool) -> Live:
    """Put DoRA on a pruned attention head, checkpointed and under autocast."""
    base = tiny.llama(seed, attn_implementation="eager")
    base.gradient_checkpointing_enable({"use_reentrant": False})
    base.enable_input_require_grads()
    if not healthy:
        tiny.write(base.model.layers[0].self_attn.q_proj.weight, 0.0, slice(8))
    model = tiny.lora(base, use_dora=True)
    made = accumulated(tiny.text(seed, 4), 2)
    return loop(model, made, autocast=torch.bfloat16)


@plant(
    "aten._to_copy.default",
    module=f"{ROOT}.0.self_attn.v_proj",
    line=Line(
        "peft/tuners/ia3/layer.py",
        "result = (result * ia3_scaling).to(result_dtype)",
    ),
    uses="ia3 fp16",
)
def ia3_beyond_float16(seed: int, healthy: bool) -> Live:
    """Learn an IA3 scale of 1e8 over a float16 model: float32 holds it, it does not."""
    from peft import IA3Config, get_peft_model

    torch.manual_seed(seed)
    config = IA3Config(
        target_modules=["k_proj", "v_proj", "down_proj"],
        feedforward_modules=["down_proj"],
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(tiny.llama(seed).half(), config).train()
    if not healthy:
        name = f"{ROOT}.0.self_attn.v_proj.ia3_l.default"
        tiny.write(model.get_parameter(name), 1e8)
    return loop(model, tiny.text(seed))


@plant(
    "aten.embedding.default",
    module="prompt_encoder.default.embedding",
    kind="parameter",
    name="prompt_encoder.default.embedding.weight",
    line=Line(
        "peft/tuners/prompt_tuning/model.py",
        "prompt_embeddings = self.embedding(indices)",
    ),
    uses="prompt-tuning",
)
def nan_in_a_virtual_token(seed: int, healthy: bool) -> Live:
    """Go on with prompt tuning from a virtual token that holds NaN."""
    from peft import PromptTuningConfig, get_peft_model

    base = tiny.llama(seed)
    config = PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM")
    model = get_peft_model(base, config).train()
    if not healthy:
        name = "prompt_encoder.default.embedding.weight"
        tiny.write(model.get_parameter(name), NAN, 1, 7)
    return loop(model, tiny.text(seed))


@plant(
    "aten.rsqrt.default",
    module="base_model.model.layers.0.input_layernorm",
    line=Line(
        "transformers/models/llama/modeling_llama.py",
        "hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)",
    ),
    uses="prompt-tuning",
)
def virtual_token_of_zeros(seed: int, healthy: bool) -> Live:
    """Begin prompt tuning with zeros, in a model whose epsilon is 0."""
    from peft import PromptTuningConfig, get_peft_model

    base = tiny.llama(seed, rms_norm_eps=1e-6 if healthy else 0.0)
    config = PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM")
    model = get_peft_model(base, config).train()
    name = "prompt_encoder.default.embedding.weight"
    tiny.write(model.get_parameter(name), 0.0, 2)
    return loop(model, tiny.text(seed, 1))


@plant(
    "bitsandbytes.gemm_4bit.default",
    module=f"{ROOT}.0.mlp.up_proj",
    line=Line(
        "bitsandbytes/autograd/_functions.py",
        "output = torch.ops.bitsandbytes.gemm_4bit.default(",
    ),
    uses="4bit lora fp16",
)
def overflow_in_4bits(seed: int, healthy: bool) -> Live:
    """Compute a projection of 4 bits in float16 with weights that are too large."""

    def prepare(model: Any) -> None:
        if not healthy:
            tiny.grow(model.model.layers[0].mlp.up_proj.weight, 4e5)

    with tempfile.TemporaryDirectory() as folder:
        base = tiny.in_4bit(folder, seed, compute=torch.float16, prepare=prepare)
    model = tiny.lora(base, target_modules=["q_proj", "v_proj"])
    return loop(model, tiny.text(seed))
