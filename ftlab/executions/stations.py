"""What a model becomes on its way to deployment: saved, loaded, merged."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.executions.pairs import copied, is_merged
from ftlab.executions.side import NotApplicableError


def loaded_again(model: Any, folder: str) -> Any:
    """Save a model into ``folder`` and load it as a stranger would.

    Adapters are loaded onto their base without them.

    Raises
    ------
    NotApplicableError
        The base of the adapters is not to be had, or the model's class does not build
        all of it.
    """
    try:
        model.save_pretrained(folder)
    except NotImplementedError as error:
        raise NotApplicableError(str(error)) from error
    if not hasattr(model, "peft_config"):
        return _all_built(whole_from(folder, model), model)
    names = list(model.peft_config)
    there = {n: Path(folder) if n == "default" else Path(folder, n) for n in names}
    return adapters_from(there, model)


def whole_from(folder: str | Path, model: Any) -> Any:
    """Load a model without adapters, of the class of ``model`` and in its precision."""
    # files hold the dtype, and loaders may change it
    kind, weight = type(innermost(model)), next(model.parameters())
    return kind.from_pretrained(folder, dtype=weight.dtype).to(weight.device)


def _all_built(again: Any, model: Any) -> Any:
    built = {name for name, _ in again.named_modules()}
    lacking = [name for name, _ in model.named_modules() if name not in built]
    if lacking:
        msg = f"{type(model).__name__} alone does not build {lacking[0]}"
        raise NotApplicableError(msg)
    return again


def adapters_from(
    folders: Mapping[str, Path], model: Any, base: Path | None = None
) -> Any:
    """Load adapters onto their base, as a stranger would.

    Parameters
    ----------
    folders
        Where each adapter lies, by its name.
    model
        The live model, which tells the class and the precision.
    base
        Where the base lies; by default where the live one was loaded from, and a copy
        of it without adapters if that is not here.
    """
    from peft import PeftModel

    if is_merged(model):
        msg = "an adapter is merged into the live model; call unmerge_adapter() first"
        raise NotApplicableError(msg)
    there = base or base_folder(model)
    bare = bare_base(model) if there is None else base_from_folder(model, there)
    _grow(bare, model)
    before = {name: p.detach().clone() for name, p in bare.named_parameters()}
    (first, where), *more = folders.items()
    learns = not any(each.is_prompt_learning for each in model.peft_config.values())
    again = PeftModel.from_pretrained(
        bare, where, adapter_name=first, is_trainable=learns
    )
    for name, folder in more:
        again.load_adapter(folder, adapter_name=name, is_trainable=learns)
    active = model.active_adapter
    again.base_model.set_adapter(active) if isinstance(active, list) else (
        again.set_adapter(active)
    )
    if there is None:
        _refuse_changed(bare, again, before)
    return again


def _grow(bare: Any, model: Any) -> None:
    """Give a base the rows for new tokens that the live model has, as loaders do."""
    mine, theirs = (_rows(each) for each in (model, bare))
    if mine > theirs > 0 and hasattr(bare, "resize_token_embeddings"):
        bare.resize_token_embeddings(mine)


def _rows(model: Any) -> int:
    if not hasattr(model, "get_input_embeddings"):
        return 0
    weight = getattr(model.get_input_embeddings(), "weight", None)
    return weight.shape[0] if isinstance(weight, torch.Tensor) else 0


def _refuse_changed(bare: Any, again: Any, before: Mapping[str, torch.Tensor]) -> None:
    kept = {id(p) for p in bare.parameters()}
    for name, parameter in again.named_parameters():
        was = before.get(shared_name(name).replace(".base_layer.", "."))
        if (
            was is not None
            and id(parameter) in kept
            and not torch.equal(was, parameter)
        ):
            msg = (
                "this adapter's start changes the base, and the folder of the base as "
                "it was is not here"
            )
            raise NotApplicableError(msg)


def innermost(model: Any) -> Any:
    """Return the model within all PEFT models."""
    while hasattr(model, "get_base_model"):
        model = model.get_base_model()
    return model


def base_folder(model: Any) -> Path | None:
    """Return the folder that a model was loaded from, if it is here."""
    name = getattr(getattr(model, "config", None), "_name_or_path", "")
    return Path(name) if name and Path(name).is_dir() else None


def bare_base(model: Any) -> Any:
    """Return a copy of an adapter's base as it is now, without the adapter.

    Raises
    ------
    NotApplicableError
        The base cannot be copied.
    """
    try:
        base = copied(model).unload()
    except Exception as error:
        msg = f"its base cannot be copied ({type(error).__name__}: {error})"
        raise NotApplicableError(msg) from error
    for parameter in base.parameters():
        parameter.requires_grad_(False)
    if hasattr(base, "peft_config"):
        del base.peft_config
    return base


def base_from_folder(model: Any, folder: Path) -> Any:
    """Load the base of a model's adapters from its folder, in the dtype of the live."""
    kind, weight = type(innermost(model)), next(model.parameters())
    rounding = getattr(model.config, "quantization_config", None)
    if rounding is not None:
        return kind.from_pretrained(
            folder, dtype=weight.dtype, quantization_config=rounding
        )
    return kind.from_pretrained(folder, dtype=weight.dtype).to(weight.device)


def ends_of(model: Any) -> set[int]:
    """Return the ids of the tokens that end a generation."""
    config = getattr(innermost(model), "generation_config", None)
    end = getattr(config, "eos_token_id", None)
    return set(end if isinstance(end, list) else [end]) - {None}
