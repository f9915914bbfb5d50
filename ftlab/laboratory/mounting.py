"""Loads, activates, switches off and deletes adapters on a live model, through PEFT."""

import contextlib
import tempfile
from collections.abc import Iterator
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

    It is a PeftModel, whose own adapters stay, or a model without adapters, which is
    wrapped while one is loaded: `Mounted.model` is what is to be called.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        from peft import PeftModel

        self.live = isinstance(model, PeftModel)
        around = [model] if self.live else []
        if is_merged(model) or [e.module for e in holders(model)] != around:
            msg = (
                f"{type(model).__name__} has merged adapters, or has them without a "
                "PeftModel around it, or in two; pass a PeftModel after "
                "unmerge_adapter(), or a base without adapters."
            )
            raise BadValueError(msg)
        self._given = model
        self._found = Found(model)
        self._off = ExitStack()
        self.model: Any = model
        self.loaded: list[str] = []
        self.own = next(iter(self.configs), None)

    def __enter__(self) -> "Mounted":
        modules = self.model.modules()
        if any(getattr(each, "disable_adapters", 0) is True for each in modules):
            self.model.base_model.enable_adapter_layers()
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.on()
        finally:
            self._unwrap()

    @property
    def configs(self) -> dict[str, Any]:
        """Settings of the adapters that can be activated, by name."""
        return dict(getattr(self.model, "peft_config", None) or {})

    def load(self, name: str, source: Any) -> None:
        """Load an adapter from a folder, or the active one of another PeftModel."""
        self.on()
        if name in self.configs:
            msg = f"the model has an adapter {name!r} already; choose another name."
            raise BadValueError(msg)
        rng = RngState.take()
        try:
            with _folder(name, source) as folder:
                self._load(name, str(folder))
        except BaseException as error:
            if not self.live and not self.loaded:
                self._unwrap()
            elif name in self.configs:
                with contextlib.suppress(Exception):  # half of it may be there
                    self.model.delete_adapter(name)
            if not isinstance(error, Exception):
                raise
            msg = f"{name!r} cannot be put on {type(self._given).__name__}: {error}"
            raise BadValueError(msg[:500]) from error
        finally:
            rng.restore()
        self.loaded.append(name)

    def _load(self, name: str, folder: str) -> None:
        from peft import PeftConfig, get_peft_model

        if not self.configs:
            config = PeftConfig.from_pretrained(folder)
            config.inference_mode = True
            self.model = get_peft_model(self._given, config, adapter_name=name)
        device = str(next(self._given.parameters()).device)
        result = self.model.load_adapter(folder, name, torch_device=device)
        named = dict(self.model.named_parameters(remove_duplicate=False))
        got = {id(p) for key, p in named.items() if key not in result.missing_keys}
        # PEFT looks for the name anywhere in a key, and calls a prompt's own unexpected
        lacking = [k for k in result.missing_keys if name in k.split(".")[-3:]]
        lacking = [k for k in lacking if id(named.get(k)) not in got]
        prompt = self.configs[name].is_prompt_learning
        strange = [] if prompt else result.unexpected_keys
        for keys, what in ((lacking, "lacks"), (strange, "also has")):
            if keys:
                msg = f"the folder {what} {keys[0]} ({len(keys)} of the kind)"
                raise BadValueError(msg)

    def activate(self, name: str) -> None:
        """Let an adapter work, and no other."""
        self.on()
        self.model.set_adapter(name)

    def off(self) -> None:
        """Switch all adapters off."""
        self.on()
        if self.configs:
            self._off.enter_context(without_adapters(self.model))

    def on(self) -> None:
        """Switch them on again, that one which was active."""
        self._off.close()

    def delete(self, name: str) -> None:
        """Delete an adapter that was loaded here; the wrapper goes with the last."""
        self.on()
        if name not in self.loaded:
            known = ", ".join(self.loaded) or "none"
            msg = f"no adapter {name!r} was loaded here; there is {known}."
            raise BadValueError(msg)
        others = [each for each in self.configs if each != name]
        if others and name in self.model.active_adapters:
            self.activate(others[0])
        try:
            self.model.delete_adapter(name)
        except Exception as error:
            kind = type(error).__name__
            msg = f"PEFT cannot delete {name!r}: {kind}: {error}"
            raise BadValueError(msg[:500]) from error
        self.loaded.remove(name)
        if not others:
            self._unwrap()

    def _unwrap(self) -> None:
        self._found.restore()
        self.model = self._given


@contextlib.contextmanager
def _folder(name: str, source: Any) -> Iterator[Path]:
    """Yield the folder of an adapter; that of a live one is written for a while."""
    from peft import PeftModel

    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and (path / "adapter_config.json").is_file():
        yield path
    elif isinstance(source, PeftModel) and len(source.active_adapters) == 1:
        (active,) = source.active_adapters
        with tempfile.TemporaryDirectory() as made:
            source.save_pretrained(made, selected_adapters=[active])
            yield Path(made) / ("" if active == "default" else active)
    else:
        kind = repr(str(path)) if path is not None else type(source)
        msg = (
            f"{name!r} is {kind}, no folder with adapter_config.json; pass one that "
            "save_pretrained has written, or a PeftModel with one active adapter."
        )
        raise BadValueError(msg)
