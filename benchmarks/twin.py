"""The models that benchmarks train: their shapes, their batches, one training step."""

from collections.abc import Callable
from typing import Any

import torch

SHAPES = ("3x48", "8x512", "24x64", "48x128", "moe")
"""Layers x hidden size of a Llama; ``moe`` is a Mixtral with 6 layers of 8 experts."""

Batch = dict[str, torch.Tensor]


class Twin:
    """A model of one shape, its optimizer and its training step.

    Parameters
    ----------
    kind
        ``"lora"`` or ``"full"``.
    """

    def __init__(self, kind: str, shape: str = "8x512") -> None:
        torch.manual_seed(0)
        self.model: torch.nn.Module = _mixtral() if shape == "moe" else _llama(shape)
        if kind == "lora":
            from peft import LoraConfig, get_peft_model

            targets = ["q_proj", "k_proj", "v_proj", "o_proj"]
            targets = targets if shape == "moe" else ["q_proj", "v_proj", "down_proj"]
            lora = LoraConfig(r=8, lora_alpha=16, target_modules=targets)
            self.model = get_peft_model(self.model, lora)
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, lr=1e-4)
        self.after: Callable[[], None] = lambda: None

    def step(self, batch: Batch) -> torch.Tensor:
        """Train on one batch."""
        loss = self.model(**batch).loss
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.after()
        return loss.detach()


def batch(
    index: int, device: str = "cpu", *, rows: int = 2, length: int = 128
) -> Batch:
    """Return a batch of tokens drawn at random."""
    generator = torch.Generator().manual_seed(index)
    ids = torch.randint(0, 512, (rows, length), generator=generator).to(device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}


def _llama(shape: str) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    layers, hidden = map(int, shape.split("x"))
    heads = max(4, hidden // 64)
    config = LlamaConfig(
        vocab_size={512: 4096, 2048: 32_000}.get(hidden, 512),
        hidden_size=hidden,
        intermediate_size=11 * hidden // 4,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 2,
        max_position_embeddings=2048,
        use_cache=False,
    )
    return LlamaForCausalLM(config)


def _mixtral() -> Any:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=512,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=6,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=8,
        num_experts_per_tok=2,
        max_position_embeddings=256,
        use_cache=False,
    )
    return MixtralForCausalLM(config)
