"""Tiny seeded models, tokenizers and batches that every test builds from."""

from collections.abc import Iterator
from typing import Any

import torch

from ftlab.faults.builders import tiny
from ftlab.faults.builders.tiny import llama as tiny_llama


def tiny_lora(
    base: torch.nn.Module | None = None, seed: int = 1, **overrides: Any
) -> torch.nn.Module:
    """Put LoRA on the attention and MLP projections of a tiny Llama."""
    from peft import LoraConfig, get_peft_model

    base = tiny_llama() if base is None else base
    torch.manual_seed(seed)
    settings = {
        "r": 4,
        "lora_alpha": 8,
        "target_modules": ["q_proj", "v_proj", "down_proj"],
        "task_type": "CAUSAL_LM",
    }
    return get_peft_model(base, LoraConfig(**(settings | overrides)))


def tiny_4bit(folder: Any, seed: int = 0, **overrides: Any) -> torch.nn.Module:
    """Load a tiny Llama in 4 bits from ``folder``, where it is saved first.

    The AVX512-BF16 path of bitsandbytes packs the weights for inference at the first
    evaluation and silently cuts the graph afterwards; it is turned off here.
    """
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    tiny_llama(seed, hidden_size=128, **overrides).save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(
        folder,
        dtype=torch.bfloat16,
        quantization_config=BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=torch.bfloat16,
        ),
    )
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
    return model


def batches(
    count: int = 8, size: int = 4, length: int = 16, seed: int = 0
) -> Iterator[dict[str, torch.Tensor]]:
    """Yield batches of the learnable rule ``x[t+1] = (3 x[t] + 7) mod V``."""
    yield from tiny.batches(count, size, length, seed)


def update(loss: torch.Tensor, optimizer: Any) -> None:
    """Make one whole update by hand."""
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


class Rows(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """The rule's rows as a map-style dataset for a Trainer."""

    def __init__(self, count: int = 64, length: int = 16, seed: int = 0) -> None:
        self.rows = list(batches(count, 1, length, seed))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {name: value[0] for name, value in self.rows[index].items()}
