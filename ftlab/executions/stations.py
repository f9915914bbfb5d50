"""What a model becomes on its way to deployment: saved, loaded, merged."""

import copy
from pathlib import Path
from typing import Any

import torch

from ftlab.executions.pairs import NotApplicableError


def loaded_again(model: Any, folder: str) -> Any:
    """Save a model into ``folder`` and load it as a stranger would.

    An adapter is loaded onto a copy of its base without it; what else was changed in
    the base is put back from its files where these are here.

    Raises
    ------
    NotApplicableError
        The base of the adapter cannot be copied.
    """
    model.save_pretrained(folder)
    if not hasattr(model, "peft_config"):
        # the dtype is that of the live model: files hold it, loaders may change it
        again = type(model).from_pretrained(
            folder, dtype=next(model.parameters()).dtype
        )
        return again.to(next(model.parameters()).device)
    from peft import PeftModel

    base = bare_base(model)
    return PeftModel.from_pretrained(base, folder, adapter_name=model.active_adapter)


def bare_base(model: Any) -> Any:
    """Return an adapter's base as it was before the adapter.

    From its folder, if it was loaded from one that is here; else a copy of what it is
    now, without the adapter.

    Raises
    ------
    NotApplicableError
        The base cannot be copied.
    """
    folder = str(getattr(model.config, "_name_or_path", "") or "")
    if folder and Path(folder).is_dir():
        kind, weight = type(model.get_base_model()), next(model.parameters())
        return kind.from_pretrained(folder, dtype=weight.dtype).to(weight.device)
    try:
        base = copy.deepcopy(model).unload()
    except Exception as error:
        msg = f"its base cannot be copied ({type(error).__name__}: {error})"
        raise NotApplicableError(msg) from error
    for parameter in base.parameters():
        parameter.requires_grad_(False)
    if hasattr(base, "peft_config"):
        del base.peft_config
    return base


def logits_of(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Return a model's logits of token ids, shape (rows, positions, vocabulary)."""
    with torch.no_grad():
        logits: torch.Tensor = model(input_ids=ids).logits
    return logits
