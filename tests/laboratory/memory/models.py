"""Four families, three ways to fine-tune each, in shapes where activations matter."""

from typing import Any

import torch

FAMILIES = ("llama", "gpt2", "qwen3", "gemma", "mixtral")
WAYS = ("full", "lora", "qlora")


def base(family: str) -> Any:
    """Build a model of two layers from its configuration."""
    import transformers as t

    torch.manual_seed(0)
    shape = {
        "vocab_size": 512,
        "hidden_size": 128,
        "intermediate_size": 352,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128,
        "use_cache": False,
    }
    if family == "llama":
        return t.LlamaForCausalLM(t.LlamaConfig(**shape))
    if family == "qwen3":
        return t.Qwen3ForCausalLM(t.Qwen3Config(**shape, head_dim=32))
    if family == "gemma":
        return t.GemmaForCausalLM(t.GemmaConfig(**shape, head_dim=32))
    if family == "mixtral":
        experts = {"num_local_experts": 4, "num_experts_per_tok": 2}
        return t.MixtralForCausalLM(t.MixtralConfig(**shape, **experts))
    names = {"n_embd": 128, "n_layer": 2, "n_head": 4, "n_positions": 128}
    return t.GPT2LMHeadModel(t.GPT2Config(vocab_size=512, use_cache=False, **names))


def prepared(family: str, way: str, folder: Any) -> Any:
    """Build a model to be fine-tuned in one of `WAYS`."""
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    model = base(family)
    if way == "full":
        return model
    if way == "qlora":
        model.save_pretrained(folder)
        model = in_four_bits(folder)
        prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    targets = ["c_attn", "c_proj", "c_fc"] if family == "gpt2" else "all-linear"
    torch.manual_seed(1)
    config = LoraConfig(r=8, target_modules=targets, task_type="CAUSAL_LM")
    return get_peft_model(model, config)


def in_four_bits(folder: Any) -> Any:
    """Load a model in 4 bits, its scales in 8."""
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    bits = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.bfloat16, quantization_config=bits
    )
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
    return model


def rows(count: int = 8, length: int = 96, vocabulary: int = 512) -> dict[str, Any]:
    """Return a batch of random tokens."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(3, vocabulary, (count, length), generator=generator)
    mask = torch.ones_like(ids)
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.clone()}
