"""Tiny seeded models and batches that the cases are built from.

Dimension 0 of the embedding is kept for one rare token: it is 0 for all others, and
the rest is 0 for it. So a weight that reads dimension 0 acts when the token comes up.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.anomalies.case import Batch

VOCABULARY = 64
WIDTH = 32
PAD, RARE = 0, 63
SIZE, LENGTH = 2, 6


def settings(**overrides: Any) -> dict[str, Any]:
    """Return the configuration that Llama and its relatives share."""
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 64,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": PAD,
        "use_cache": False,
        "tie_word_embeddings": False,
    } | overrides


def causal(kind: str, seed: int, **overrides: Any) -> Any:
    """Build ``LlamaForCausalLM`` or a relative of it, such as ``"Qwen3"``."""
    import transformers

    torch.manual_seed(seed)
    config = getattr(transformers, f"{kind}Config")(**settings(**overrides))
    return getattr(transformers, f"{kind}ForCausalLM")(config).train()


def llama(seed: int, **overrides: Any) -> Any:
    """Build a Llama of two layers."""
    return causal("Llama", seed, **overrides)


def mixtral(seed: int, **overrides: Any) -> Any:
    """Build a Mixtral of four experts, which compute one after the other."""
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2}
    model = causal("Mixtral", seed, **(experts | overrides))
    model.set_experts_implementation("eager")
    return model


def gpt2(seed: int, **overrides: Any) -> Any:
    """Build a GPT-2 of two layers, without dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    drops = dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0)
    config = GPT2Config(
        **(
            {
                "vocab_size": VOCABULARY,
                "n_embd": WIDTH,
                "n_layer": 2,
                "n_head": 4,
                "n_positions": 64,
                "bos_token_id": 1,
                "eos_token_id": 2,
                "use_cache": False,
                "tie_word_embeddings": False,
            }
            | drops
            | overrides
        )
    )
    return GPT2LMHeadModel(config).train()


def t5(seed: int, **overrides: Any) -> Any:
    """Build a T5 of one layer on each side."""
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(seed)
    sizes = {
        "vocab_size": VOCABULARY,
        "d_model": WIDTH,
        "d_kv": 8,
        "d_ff": 48,
        "num_layers": 1,
        "num_heads": 4,
        "pad_token_id": PAD,
        "decoder_start_token_id": PAD,
        "use_cache": False,
        "tie_word_embeddings": False,
    }
    config = T5Config(**(sizes | overrides))
    return T5ForConditionalGeneration(config).train()


def bert(seed: int, **overrides: Any) -> Any:
    """Build a BERT of one layer that predicts one number for a text."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(seed)
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "intermediate_size": 48,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "num_labels": 1,
    }
    config = BertConfig(**(sizes | overrides))
    return BertForSequenceClassification(config).train()


def lora(base: Any, seed: int = 1, **overrides: Any) -> Any:
    """Put LoRA on some projections of a model."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    config = {
        "r": 4,
        "lora_alpha": 8,
        "target_modules": ["q_proj", "v_proj", "down_proj"],
        "task_type": "CAUSAL_LM",
    }
    return get_peft_model(base, LoraConfig(**(config | overrides))).train()


def in_4bit(
    folder: Any,
    seed: int,
    compute: torch.dtype = torch.float32,
    prepare: Callable[[Any], None] | None = None,
) -> Any:
    """Load a tiny Llama in 4 bits by way of ``folder``; ``prepare`` changes it before.

    The AVX512-BF16 path of bitsandbytes packs the weights for inference and cuts the
    graph; it is turned off.
    """
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    model = llama(seed, hidden_size=64)
    if prepare is not None:
        prepare(model)
    model.save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(
        folder,
        dtype=compute,
        quantization_config=BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=compute,
        ),
    )
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
    return model


def text(seed: int, count: int = 3, size: int = SIZE) -> list[Batch]:
    """Return batches of tokens without padding and without the rare token."""
    generator = torch.Generator().manual_seed(seed)
    made: list[Batch] = []
    for _ in range(count):
        ids = torch.randint(3, RARE, (size, LENGTH), generator=generator)
        mask = torch.ones_like(ids)
        made.append({"input_ids": ids, "attention_mask": mask, "labels": ids.clone()})
    return made


def text_with(token: int, at: int, seed: int, healthy: bool) -> list[Batch]:
    """Return `text` with one ``token`` in the second sample of batch ``at``."""
    made = text(seed)
    if not healthy:
        made[at]["input_ids"][1, 2] = token
    return made


@torch.no_grad()
def reserve(table: torch.Tensor, value: float = 1.0) -> None:
    """Keep dimension 0 of an embedding for the rare token."""
    table[:, 0] = 0
    table[RARE] = 0
    table[RARE, 0] = value


@torch.no_grad()
def write(tensor: torch.Tensor, value: Any, *place: Any) -> None:
    """Write ``value`` into a weight, at ``place`` or everywhere."""
    tensor[place or slice(None)] = value


@torch.no_grad()
def grow(tensor: torch.Tensor, factor: float) -> None:
    """Multiply a weight."""
    tensor.mul_(factor)


def frozen(model: Any, *kept: str) -> Any:
    """Let only the parameters train whose name holds one of ``kept``."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(any(part in name for part in kept))
    return model


def rows(made: Sequence[Batch]) -> list[Batch]:
    """Return the samples of batches one by one, as a Trainer's dataset."""
    return [
        {name: values[row] for name, values in batch.items()}
        for batch in made
        for row in range(len(batch["input_ids"]))
    ]
