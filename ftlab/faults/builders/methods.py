"""Other PEFT methods than LoRA on the tiny models, as `builders.tiny.lora` is."""

from typing import Any

import torch

from ftlab.faults.builders.tiny import attention, base, set_seed
from ftlab.faults.variation import current

DOWN = ("down_proj", "c_proj", "dense_4h_to_h", "grow")
"""What the families of `builders.tiny.base` call their last feed-forward layer."""


def tuned(kind: str, model: Any = None, **settings: Any) -> Any:
    """Put an adapter of a PEFT method on ``model`` (one of `base`).

    Parameters
    ----------
    kind
        Name of a configuration of PEFT, such as ``"VeraConfig"``.
    settings
        Of the configuration, besides the attention's projections as targets.
    """
    import peft

    model = base() if model is None else model
    set_seed(1)
    asked: dict[str, Any] = {"target_modules": attention(model)}
    if hasattr(model, "generate"):
        asked["task_type"] = "CAUSAL_LM"
    config = getattr(peft, kind)(**(asked | settings))
    return peft.get_peft_model(model, config, adapter_name=current().adapter)


def rescaled(model: Any = None, **settings: Any) -> Any:
    """Put IA3 on the attention and the last feed-forward layers of ``model``."""
    model = base() if model is None else model
    down = last_feed_forward(model)
    asked = {"target_modules": [*attention(model), *down], "feedforward_modules": down}
    return tuned("IA3Config", model, **(asked | settings))


def last_feed_forward(model: torch.nn.Module) -> list[str]:
    """Name the layers that end the feed-forward part, told apart from others."""
    ends = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    # GPT-2 calls the last layer of its attention the same.
    return [
        f"mlp.{name}" if name == "c_proj" else name for name in DOWN if name in ends
    ]


def ranked(total: int, **settings: Any) -> Any:
    """Put AdaLoRA on a model, for a run of ``total`` steps."""
    asked: dict[str, Any] = {
        "init_r": 8,
        "target_r": 2,
        "tinit": 4,
        "tfinal": total // 3,
        "deltaT": 2,
        "total_step": total,
        "lora_alpha": 16,
    }
    return tuned("AdaLoraConfig", **(asked | settings))
