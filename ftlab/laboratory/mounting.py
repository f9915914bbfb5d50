"""Loads, activates, switches off and deletes adapters on a live model, through PEFT."""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from ftlab.executions.pairs import is_merged
from ftlab.probes.adapter.adapter_tree import holders
from ftlab.probes.adapter.switched_off import without_adapters
from ftlab.records.errors import BadValueError
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.capsules.side_state import SideState


class Found:
    """What a model is made of: its modules, what they hold, and which are trained."""

    def __init__(self, model: torch.nn.Module) -> None:
        configs = [c for each in holders(model) for c in each.configs.values()]
        self._kept = [SideState(each) for each in (*model.modules(), *configs)]
        self._trained = [(p, p.requires_grad) for p in model.parameters()]

    def restore(self) -> None:
        """Put it together again."""
        for kept in self._kept:
            kept.restore()
        for parameter, trained in self._trained:
            parameter.requires_grad_(trained)


class Mounted:
    """Adapters on a live model; leaving the context puts the model back as it was.

    Parameters
    ----------
    model
        A PeftModel, whose own adapters stay, or a model without adapters, which is
        wrapped while one is loaded.

    Attributes
    ----------
    model
        What is to be called now: the model, or what wraps it.
    loaded
        Names of the adapters that were loaded here.

    Raises
    ------
    BadValueError
        The model carries adapters in another way, or has merged ones.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        from peft import PeftModel

        self.live = isinstance(model, PeftModel)
        if (not self.live and holders(model)) or len(holders(model)) > 1:
            msg = (
                f"{type(model).__name__} carries adapters without a PeftModel around "
                "it, or in two; pass the PeftModel, or a base without adapters."
            )
            raise BadValueError(msg)
        if is_merged(model):
            msg = "an adapter is merged into this model; call unmerge_adapter() first."
            raise BadValueError(msg)
        self._given = model
        self._found = Found(model)
        self._off = ExitStack()
        self.model: Any = model
        self.loaded: list[str] = []
        self.own = _active(model) if self.live else ()
        self._named = getattr(model, "active_adapter", None)

    def __enter__(self) -> "Mounted":
        if self.live and hasattr(self.model.base_model, "enable_adapter_layers"):
            self.model.base_model.enable_adapter_layers()
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.on()
        finally:
            self._found.restore()
            self.model, self.loaded = self._given, []

    @property
    def names(self) -> list[str]:
        """Adapters that can be activated."""
        return list(self.model.peft_config) if self._is_wrapped else []

    @property
    def has_prompts(self) -> bool:
        """Whether an adapter is a prompt, for which PEFT changes methods in calls."""
        held = self.model.peft_config.values() if self._is_wrapped else ()
        return any(each.is_prompt_learning for each in held)

    @property
    def _is_wrapped(self) -> bool:
        return self.live or self.model is not self._given

    def load(self, name: str, source: Any) -> None:
        """Load an adapter from a folder, or take the active one of another PeftModel.

        Raises
        ------
        BadValueError
            The name is taken, or PEFT cannot put all of that on this model.
        """
        self.on()
        if name in self.names:
            msg = f"the model has an adapter {name!r} already; choose another name."
            raise BadValueError(msg)
        rng = RngState.take()
        try:
            with _folder(name, source) as folder:
                self._load(name, folder)
        except BaseException as error:
            self._drop(name)
            if isinstance(error, BadValueError) or not isinstance(error, Exception):
                raise
            msg = (
                f"{name!r} cannot be put on {type(self._given).__name__}: "
                f"{type(error).__name__}: {str(error).strip()[:400]}"
            )
            raise BadValueError(msg) from error
        finally:
            rng.restore()
        self.loaded.append(name)

    def _load(self, name: str, folder: Path) -> None:
        from peft import PeftConfig, get_peft_model

        if not self._is_wrapped:
            config = PeftConfig.from_pretrained(str(folder))
            config.inference_mode = True
            self.model = get_peft_model(self._given, config, adapter_name=name)
        device = str(next(self._given.parameters()).device)
        result = self.model.load_adapter(str(folder), name, torch_device=device)
        prompt = self.model.peft_config[name].is_prompt_learning
        # PEFT looks for the name anywhere in a key, and calls a prompt's own unexpected
        missing = [k for k in result.missing_keys if name in k.split(".")[-3:]]
        strange = [] if prompt else list(result.unexpected_keys)
        if missing or strange:
            what, key = ("lacks", missing[0]) if missing else ("also has", strange[0])
            msg = (
                f"{name!r} is for another model: its folder {what} {key} "
                f"({len(missing or strange)} of the kind); load it on its own base."
            )
            raise BadValueError(msg)

    def _drop(self, name: str) -> None:
        """Take back what a load that failed has put on."""
        if not self.live and not self.loaded:
            self._found.restore()
            self.model = self._given
        elif name in self.names:
            with contextlib.suppress(Exception):  # half of it may be there
                self.model.delete_adapter(name)

    def activate(self, names: str | Sequence[str]) -> None:
        """Let an adapter work, and no other; several of a tuner where it had them."""
        self.on()
        chosen = [names] if isinstance(names, str) else list(names)
        if len(chosen) == 1:
            self.model.set_adapter(chosen[0])
        else:  # which the PeftModel is not told
            self.model.base_model.set_adapter(chosen)
            self.model.active_adapter = self._named

    def off(self) -> None:
        """Switch all adapters off."""
        if self._is_wrapped:
            self.on()
            self._off.enter_context(without_adapters(self.model))

    def on(self) -> None:
        """Switch them on again, that one which was active."""
        self._off.close()

    def delete(self, name: str) -> None:
        """Delete an adapter that was loaded here; with the last one the wrapper goes.

        Raises
        ------
        BadValueError
            It was not.
        """
        self.on()
        if name not in self.loaded:
            known = ", ".join(self.loaded) or "none"
            msg = f"no adapter {name!r} was loaded here; there is {known}."
            raise BadValueError(msg)
        others = [each for each in self.names if each != name]
        if name in _active(self.model) and others:
            self.activate(self.own or others[0])
        self.model.delete_adapter(name)
        self.loaded.remove(name)
        if not others:
            if hasattr(self.model.base_model, "unload"):
                self.model.unload()
            self.model = self._given
            self._found.restore()


def _active(model: Any) -> tuple[str, ...]:
    found = model.active_adapters
    return tuple(found() if callable(found) else found)


@contextlib.contextmanager
def _folder(name: str, source: Any) -> Iterator[Path]:
    """Yield the folder of an adapter; that of a live one is written for a while."""
    from peft import PeftModel

    if isinstance(source, str | Path):
        if not (Path(source) / "adapter_config.json").is_file():
            msg = (
                f"{name!r} is {str(source)!r}, which holds no adapter_config.json; "
                "pass the folder that model.save_pretrained(folder) has written."
            )
            raise BadValueError(msg)
        yield Path(source)
    elif isinstance(source, PeftModel) and len(_active(source)) == 1:
        (active,) = _active(source)
        with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
            stack.callback(SideState(source.peft_config[active]).restore)
            source.save_pretrained(made, selected_adapters=[active])
            yield Path(made) / ("" if active == "default" else active)
    else:
        msg = (
            f"{name!r} is a {type(source).__name__}; pass the folder of an adapter, or "
            "a PeftModel with one active."
        )
        raise BadValueError(msg)
