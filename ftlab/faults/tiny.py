"""Tiny models and batches that the gallery's faults are built from.

Everything is seeded and random: a fault has to show in gradients, weights, optimizer
and order of operations, for a loss curve of a random model says little in some steps.
"""

from typing import Any

import torch

VOCABULARY = 128

Batch = dict[str, torch.Tensor]


def llama(seed: int = 0, **settings: Any) -> Any:
    """Build a small Llama with random weights; ``settings`` override its config."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(**(_config() | settings)))


def mixtral(seed: int = 0, **settings: Any) -> Any:
    """Build a small mixture of experts, one expert per token."""
    from transformers import MixtralConfig, MixtralForCausalLM

    torch.manual_seed(seed)
    experts = {"num_local_experts": 8, "num_experts_per_tok": 1}
    return MixtralForCausalLM(MixtralConfig(**(_config() | experts | settings)))


def _config() -> dict[str, Any]:
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "use_cache": False,
    }


def lora(base: Any = None, seed: int = 1, **settings: Any) -> Any:
    """Put LoRA on ``base`` (a small Llama); ``settings`` override its LoraConfig."""
    from peft import LoraConfig, get_peft_model

    base = llama() if base is None else base
    config = {
        "r": 8,
        "lora_alpha": 16,
        "target_modules": ["q_proj", "v_proj"],
        "task_type": "CAUSAL_LM",
    }
    torch.manual_seed(seed)
    return get_peft_model(base, LoraConfig(**(config | settings)))


def trainable(model: torch.nn.Module) -> list[torch.nn.Parameter]:
    """List the parameters that require a gradient."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def adamw(model: torch.nn.Module, lr: float = 1e-3, **settings: Any) -> Any:
    """Build AdamW over the trainable parameters, without weight decay by default."""
    settings = {"weight_decay": 0.0} | settings
    return torch.optim.AdamW(trainable(model), lr=lr, **settings)


def batches(
    count: int = 8, size: int = 4, length: int = 16, seed: int = 0
) -> list[Batch]:
    """Return batches of the learnable rule ``x[t+1] = (3 x[t] + 7) mod V``."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for _ in range(count):
        columns = [torch.randint(3, VOCABULARY, (size, 1), generator=generator)]
        while len(columns) < length:
            columns.append((columns[-1] * 3 + 7) % VOCABULARY)
        ids = torch.cat(columns, 1)
        mask = torch.ones_like(ids)
        made.append({"input_ids": ids, "attention_mask": mask, "labels": ids.clone()})
    return made


def rows_of(made: list[Batch]) -> list[Batch]:
    """Return the rows of batches one by one, as a Trainer's dataset."""
    return [
        {name: values[row] for name, values in batch.items()}
        for batch in made
        for row in range(len(batch["input_ids"]))
    ]


def token_loss(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Return the loss of predicting the next token."""
    flat = logits[:, :-1].float().reshape(-1, logits.size(-1))
    return torch.nn.functional.cross_entropy(flat, batch["labels"][:, 1:].reshape(-1))
