"""Tiny models and batches that the gallery's faults are built from.

Everything is seeded and random: a fault has to show in gradients, weights, optimizer
and order of operations, for a loss curve of a random model says little in some steps.
"""

from typing import Any

import torch
from packaging.version import Version

from ftlab.faults.variation import current

VOCABULARY = 128

Batch = dict[str, torch.Tensor]


def base(seed: int = 0) -> Any:
    """Build a causal language model of the family that the variation asks for."""
    builders = {"llama": llama, "gpt2": gpt2, "neox": neox, "own": own}
    return builders[current().family](seed)


def attention(model: torch.nn.Module) -> list[str]:
    """Name the attention's projections in a model of `base`: a LoRA's targets."""
    return _targets(model, _ATTENTION)


def feed_forward(model: torch.nn.Module) -> list[str]:
    """Name the projections of the feed-forward part in a model of `base`."""
    return _targets(model, _FEED_FORWARD)


_ATTENTION = {"q_proj", "v_proj", "c_attn", "query_key_value", "look", "tell"}
_FEED_FORWARD = {
    "gate_proj",
    "up_proj",
    "down_proj",
    "c_fc",
    "dense_h_to_4h",
    "dense_4h_to_h",
    "squeeze",
    "grow",
}


def _targets(model: torch.nn.Module, known: set[str]) -> list[str]:
    names = (name.rpartition(".")[2] for name, _ in model.named_modules())
    return sorted(known.intersection(names))


def llama(seed: int = 0, **settings: Any) -> Any:
    """Build a small Llama with random weights; ``settings`` override its config."""
    from transformers import LlamaConfig, LlamaForCausalLM

    set_seed(seed)
    return LlamaForCausalLM(LlamaConfig(**(sizes() | settings)))


def gpt2(seed: int = 0, **settings: Any) -> Any:
    """Build a small GPT-2, whose linear layers are transposed and partly fused."""
    from transformers import GPT2Config, GPT2LMHeadModel

    set_seed(seed)
    shape = {
        "vocab_size": VOCABULARY,
        "n_embd": current().width,
        "n_layer": current().depth,
        "n_head": 4,
        "n_positions": 64,
        "use_cache": False,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
    }
    return GPT2LMHeadModel(GPT2Config(**(shape | _SPECIAL | settings)))


def neox(seed: int = 0, **settings: Any) -> Any:
    """Build a small GPT-NeoX (Pythia)."""
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    set_seed(seed)
    config = sizes()
    del config["num_key_value_heads"]
    return GPTNeoXForCausalLM(GPTNeoXConfig(**(config | settings)))


def own(seed: int = 0) -> Any:
    """Build a model whose modules are called like nothing in transformers."""
    from ftlab.faults.builders.own_model import OwnModel

    set_seed(seed)
    return OwnModel(VOCABULARY, current().width, current().depth)


def mixtral(seed: int = 0, **settings: Any) -> Any:
    """Build a small mixture of experts, one expert per token."""
    from transformers import MixtralConfig, MixtralForCausalLM

    set_seed(seed)
    experts = {"num_local_experts": 8, "num_experts_per_tok": 1}
    return MixtralForCausalLM(MixtralConfig(**(sizes() | experts | settings)))


def fused_experts(seed: int = 0, **settings: Any) -> Any:
    """Build a small mixture whose experts are one parameter, as `mixtral`.

    Mixtral keeps its experts apart before transformers 5; GPT-OSS never did.
    """
    from transformers import GptOssConfig, GptOssForCausalLM, __version__

    if Version(__version__).major >= 5:
        return mixtral(seed, **settings)
    set_seed(seed)
    shape = {
        "num_local_experts": 8,
        "num_experts_per_tok": 1,
        "head_dim": current().width // 4,
        "rope_scaling": None,
    }
    return GptOssForCausalLM(GptOssConfig(**(sizes() | shape | settings)))


_SPECIAL = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


def sizes() -> dict[str, Any]:
    """Return the sizes of a model, as most configurations of transformers name them."""
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": current().width,
        "intermediate_size": 2 * current().width,
        "num_hidden_layers": current().depth,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
        "use_cache": False,
    } | _SPECIAL


def set_seed(seed: int) -> None:
    """Seed torch for this variation."""
    torch.manual_seed(seed + 1000 * current().seed)


def lora(model: Any = None, seed: int = 1, **settings: Any) -> Any:
    """Put LoRA on ``model`` (one of `base`); ``settings`` override its LoraConfig.

    Without targets it goes on the attention's projections, or on every linear layer
    of a model that has none of those names.
    """
    from peft import get_peft_model

    model = base() if model is None else model
    set_seed(seed)
    config = lora_config(model, **settings)
    return get_peft_model(model, config, adapter_name=current().adapter)


def lora_config(model: Any, **settings: Any) -> Any:
    """Make the LoraConfig that `lora` uses."""
    from peft import LoraConfig

    config = {
        "r": current().rank,
        "lora_alpha": 2 * current().rank,
        "target_modules": attention(model) or "all-linear",
        "task_type": "CAUSAL_LM" if hasattr(model, "generate") else None,
    }
    return LoraConfig(**(config | settings))


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
    generator = torch.Generator().manual_seed(seed + 1000 * current().seed)
    made = []
    for _ in range(count):
        columns = [torch.randint(3, VOCABULARY, (size, 1), generator=generator)]
        while len(columns) < length:
            columns.append((columns[-1] * 3 + 7) % VOCABULARY)
        ids = torch.cat(columns, 1)
        mask = torch.ones_like(ids)
        made.append({"input_ids": ids, "attention_mask": mask, "labels": ids.clone()})
    return made


def micro_batches(count: int) -> list[list[Batch]]:
    """Return the micro-batches of two updates."""
    rows = batches(2 * count, size=2)
    return [rows[:count], rows[count:]]


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
