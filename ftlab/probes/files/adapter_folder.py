"""A saved adapter's folder: its configuration and tensors, as they are on disk."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.files.adapter_file_twins import is_outdated

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
PICKLED = "adapter_model.bin"
OUTDATED = "a newer pickle beside"
"""The problem of a folder whose safetensors are older than a pickle of other values."""

FULL = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")


@dataclass(frozen=True, slots=True)
class AdapterFolder:
    """What is in an adapter's folder.

    Attributes
    ----------
    path
        The folder that holds the adapter; below the one asked for where PEFT put an
        adapter with a name of its own.
    config
        ``adapter_config.json``; empty where it is missing or not readable.
    keys
        Keys of ``adapter_model.safetensors``; a pickled file is not opened.
    problems
        What is wrong with the folder, in words.
    """

    path: Path
    config: dict[str, Any] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the tensors one after the other."""
        if self.keys:
            from safetensors import safe_open

            with safe_open(self.path / WEIGHTS, framework="pt") as file:
                for key in self.keys:
                    yield key, file.get_tensor(key)


def adapter_folder(path: Path) -> AdapterFolder:
    """Look into a folder; what is wrong with it is told, not raised."""
    if not path.is_dir():
        return AdapterFolder(path, problems=("gone",))
    where = _where(path)
    problems: list[str] = []
    config = _config(where / CONFIG, problems)
    keys: tuple[str, ...] = ()
    if (where / WEIGHTS).is_file():
        keys = _keys(where / WEIGHTS, problems)
        if is_outdated(where / WEIGHTS, where / PICKLED):
            problems.append(OUTDATED)
    elif (where / PICKLED).is_file():
        problems.append("pickled")
    elif any((where / name).is_file() for name in FULL):
        problems.append("full model")
    else:
        problems.append("no weights")
    if where != path:
        problems.append("in a folder of its own name")
    return AdapterFolder(where, config, keys, tuple(problems))


def _where(path: Path) -> Path:
    """Find the adapter: PEFT puts one that is not called "default" one folder below."""
    if (path / WEIGHTS).exists() or (path / CONFIG).exists():
        return path
    below = sorted(each.parent for each in path.glob(f"*/{CONFIG}"))
    return below[0] if len(below) == 1 else path


def _config(file: Path, problems: list[str]) -> dict[str, Any]:
    if not file.is_file():
        problems.append("no configuration")
        return {}
    try:
        config = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        problems.append("unreadable configuration")
        return {}
    return config if isinstance(config, dict) else {}


def _keys(file: Path, problems: list[str]) -> tuple[str, ...]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="pt") as opened:
            return tuple(opened.keys())
    except (OSError, SafetensorError):
        problems.append("unreadable weights")
        return ()
