"""What a model becomes on its way to deployment: saved, loaded, merged."""

from pathlib import Path
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.executions.pairs import copied
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
    if hasattr(model, "peft_config"):
        return _adapters_again(model, Path(folder))
    # the dtype is that of the live model: files hold it, loaders may change it
    weight = next(model.parameters())
    again = type(model).from_pretrained(folder, dtype=weight.dtype).to(weight.device)
    built = {name for name, _ in again.named_modules()}
    lacking = [name for name, _ in model.named_modules() if name not in built]
    if lacking:
        msg = f"{type(model).__name__} alone does not build {lacking[0]}"
        raise NotApplicableError(msg)
    return again


def _adapters_again(model: Any, folder: Path) -> Any:
    from peft import PeftModel

    base = bare_base(model)
    before = {name: p.detach().clone() for name, p in base.named_parameters()}
    names = list(model.peft_config)
    paths = {each: folder if each == "default" else folder / each for each in names}
    again = PeftModel.from_pretrained(
        base, paths[names[0]], adapter_name=names[0], is_trainable=True
    )
    for each in names[1:]:
        again.load_adapter(paths[each], adapter_name=each, is_trainable=True)
    active = model.active_adapter
    again.base_model.set_adapter(active) if isinstance(active, list) else (
        again.set_adapter(active)
    )
    kept = {id(p) for p in base.parameters()}
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
    return again


def bare_base(model: Any) -> Any:
    """Return an adapter's base as it was before the adapter.

    From its folder, if it was loaded from one that is here; else a copy of what it is
    now, without the adapter.

    Raises
    ------
    NotApplicableError
        The base cannot be copied.
    """
    folder = Path(
        str(getattr(getattr(model, "config", None), "_name_or_path", "") or "-")
    )
    if folder.is_dir():
        return base_from_folder(model, folder)
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
    kind, weight = type(model.get_base_model()), next(model.parameters())
    rounding = getattr(model.config, "quantization_config", None)
    if rounding is not None:
        return kind.from_pretrained(folder, quantization_config=rounding)
    return kind.from_pretrained(folder, dtype=weight.dtype).to(weight.device)
