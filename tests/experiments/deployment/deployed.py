"""Models that were fine-tuned, folders in which they lie, and edits of their files."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from tests.servers import lesson

QUESTION = lesson.messages(lesson.CHATS[0][0])
PROMPTS = [QUESTION, "How many legs"]
"""A conversation and a text."""
OTHERWISE = [
    ("What colour is the sky?", "Fish live in rivers."),
    ("How many legs has a spider?", "The sky is blue."),
]
"""What the adapter is taught."""


def base(folder: Path, tokens: Any, **settings: Any) -> Path:
    """Teach a base its lesson and save it."""
    return lesson.save(folder, lesson.model(tokens, **settings), tokens)


def loaded(folder: Path, **how: Any) -> Any:
    """Load a base."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, **how)


def tuned(model: Any, tokens: Any, *, name: str = "default", **settings: Any) -> Any:
    """Put LoRA onto a model and teach it other answers."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(1)
    targets = ["q_proj", "v_proj", "down_proj"]
    shape = {"r": 4, "lora_alpha": 8, "target_modules": targets}
    config = LoraConfig(task_type="CAUSAL_LM", **(shape | settings))
    made = get_peft_model(model, config, adapter_name=name)
    return taught(made, tokens)


def taught(model: Any, tokens: Any) -> Any:
    """Train what can be trained of a model."""
    return lesson.taught(model, tokens, OTHERWISE, 60)


def saved(model: Any, tokens: Any, folder: Path, **how: Any) -> Path:
    """Save a model and its tokenizer."""
    model.save_pretrained(folder, **how)
    tokens.save_pretrained(folder)
    return folder


def merged(model: Any, tokens: Any, folder: Path) -> Path:
    """Merge a copy of a model, and save that."""
    return saved(copy.deepcopy(model).merge_and_unload(), tokens, folder)


def edit(file: Path, **entries: Any) -> None:
    """Change entries of a JSON file."""
    told = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(told | entries), encoding="utf-8")


def edit_tensors(
    file: Path, change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]
) -> None:
    """Change what a safetensors file holds."""
    save_file(change(load_file(file)), file, metadata={"format": "pt"})
