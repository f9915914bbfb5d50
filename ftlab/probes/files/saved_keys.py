"""What would be written if the model were saved now: predicted, nothing is saved.

PEFT is asked through its own `get_peft_model_state_dict`, with a mapping of named
parameters: ``model.state_dict()`` would unpack 4-bit weights, which some versions of
bitsandbytes do wrongly. Left to itself it looks for the base model's configuration on
the Hub; that question is answered here from what lies on this machine.
"""

import json
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.taps.forward import innermost
from ftlab.records.attributes import attribute_of

PREFIX = "base_model.model."
"""What the keys of a PeftModel's adapter begin with."""

EMBEDDINGS = ("embed_tokens", "lm_head")
"""Targets for which PEFT saves the embeddings too (its ``EMBEDDING_LAYER_NAMES``)."""


def adapter_keys(model: torch.nn.Module, adapter: str) -> dict[str, torch.Tensor]:
    """Return what PEFT would write for one adapter, by key of the file.

    An adapter that a transformers model has itself (``model.add_adapter``) is written
    as if it were a PeftModel's.

    Raises
    ------
    Exception
        Whatever PEFT raises for a model that it cannot save.
    """
    from peft import get_peft_model_state_dict

    model = innermost(model)
    named = _named_tensors(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = get_peft_model_state_dict(
            model,
            state_dict=named,
            adapter_name=adapter,
            save_embedding_layers=bool(embeddings_saved(model, adapter)),
        )
    prefix = PREFIX if attribute_of(model, "_hf_peft_config_loaded", False) else ""
    return {prefix + key: tensor for key, tensor in found.items()}


def _named_tensors(model: torch.nn.Module) -> dict[str, Any]:
    """Return what the state dict would hold: VeRA's projections are buffers."""
    named: dict[str, Any] = dict(model.named_parameters(remove_duplicate=False))
    for path, module in model.named_modules(remove_duplicate=False):
        left_out = module._non_persistent_buffers_set  # noqa: SLF001  torch has no other
        for name, buffer in module.named_buffers(recurse=False, remove_duplicate=False):
            if name not in left_out:
                named[f"{path}.{name}" if path else name] = buffer
    return named


def saved_parameters(model: torch.nn.Module) -> set[int] | None:
    """Return the identities of the parameters that saving writes.

    ``None`` where all are written, because nothing filters them, or where it cannot be
    told (prompt learning writes what its encoder computes).
    """
    configs = adapter_configs(model)
    if not configs or any(learns_prompts(each) for each in configs.values()):
        return None
    return {
        id(tensor)
        for adapter in configs
        for tensor in adapter_keys(model, adapter).values()
    }


def adapter_configs(model: torch.nn.Module) -> dict[str, Any]:
    """Return PEFT's configurations where saving the model writes adapters alone."""
    if "peft" not in sys.modules:
        return {}
    configs = attribute_of(innermost(model), "peft_config", None)
    return dict(configs) if isinstance(configs, dict) else {}


def saves_adapters(model: torch.nn.Module) -> bool:
    """Tell whether ``save_pretrained`` writes adapters: a base is written whole."""
    if "peft" not in sys.modules:
        return False
    from peft import PeftMixedModel, PeftModel

    model = innermost(model)
    own = attribute_of(model, "_hf_peft_config_loaded", False)
    return bool(own) or isinstance(model, PeftModel | PeftMixedModel)


def embeddings_saved(model: Any, adapter: str) -> bool | None:
    """Tell what PEFT's ``save_embedding_layers="auto"`` comes to; ``None``: unknown."""
    model = innermost(model)
    config = model.peft_config[adapter]
    if getattr(config, "trainable_token_indices", None) is not None:
        return False
    if _targets_embeddings(config):
        return True
    name = getattr(config, "base_model_name_or_path", None)
    vocabulary = getattr(attribute_of(model, "config"), "vocab_size", None)
    if not name or not vocabulary:
        return False
    known = _vocabulary_of(str(name))
    if known is None:
        return False if os.environ.get("HF_HUB_OFFLINE") == "1" else None
    return bool(known != vocabulary)


def _targets_embeddings(config: Any) -> bool:
    targets = getattr(config, "target_modules", None)
    if isinstance(targets, str):
        return targets != "all-linear" and any(
            re.fullmatch(targets, f"model.{name}") or re.fullmatch(targets, name)
            for name in EMBEDDINGS
        )
    return any(name in (targets or ()) for name in EMBEDDINGS)


def _vocabulary_of(name: str) -> int | None:
    """Read the vocabulary's size of a base model from its folder or the Hub's cache."""
    file = Path(name) / "config.json"
    if not file.is_file():
        try:
            from huggingface_hub import try_to_load_from_cache

            cached = try_to_load_from_cache(name, "config.json")
        except Exception:  # noqa: BLE001  no valid name of a repository
            return None
        if not isinstance(cached, str):
            return None
        file = Path(cached)
    try:
        size = json.loads(file.read_text("utf-8")).get("vocab_size")
    except (OSError, ValueError, AttributeError):
        return None
    return int(size) if isinstance(size, int) else None


def learns_prompts(config: Any) -> bool:
    """Tell whether an adapter is a prompt: PEFT does not save its parameters."""
    return bool(getattr(config, "is_prompt_learning", False))
