"""The manifest of a checkpoint: what is in it, with a digest of each file and tensor.

It begins with the digest of all that follows, so that its own damage is seen as well.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from ftlab._version import __version__
from ftlab.records.errors import CheckpointError, SchemaError
from ftlab.records.plain_files import open_file
from ftlab.records.printable import harmless
from ftlab.replay.checkpoints.durable import digest_of

MANIFEST = "checkpoint.json"
VERSION = 1
_BEFORE, _BEHIND = b'{"sha256": "', b'",\n'
_HEAD = len(_BEFORE) + 64 + len(_BEHIND)


def sealed(values: Mapping[str, Any]) -> bytes:
    """Write a manifest with its own digest in front.

    Examples
    --------
    >>> from ftlab.replay.checkpoints.manifest import sealed, unsealed
    >>> unsealed(sealed({"step": 12}))["step"]
    12
    """
    body = json.dumps({"schema": VERSION, **values}, allow_nan=False).encode()[1:]
    digest = hashlib.sha256(body).hexdigest().encode()
    return _BEFORE + digest + _BEHIND + body + b"\n"


def unsealed(data: bytes) -> dict[str, Any]:
    """Read a manifest.

    Raises
    ------
    ValueError
        It is not what was written.
    """
    head, body = data[:_HEAD], data[_HEAD:]
    digest = hashlib.sha256(body.removesuffix(b"\n")).hexdigest().encode()
    if head != _BEFORE + digest + _BEHIND or not body.endswith(b"\n"):
        msg = "its digest is not the one that it was written with"
        raise ValueError(msg)
    return dict(harmless(json.loads(data)))


def tensor_digest(tensor: torch.Tensor) -> str:
    """Return the SHA-256 of a tensor's dtype, shape and bits."""
    flat = tensor.detach().cpu().contiguous()
    digest = hashlib.sha256(f"{flat.dtype} {tuple(flat.shape)}".encode())
    array: Any = flat.reshape(-1).view(torch.uint8).numpy()
    digest.update(array)
    return digest.hexdigest()


def tensors_in(file: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of a safetensors file, one at a time.

    Complex ones are left out: reading them ends the process.
    """
    with safe_open(file, framework="pt") as stored:
        for key in stored.keys():  # noqa: SIM118  no dictionary
            if not str(stored.get_slice(key).get_dtype()).startswith("C"):
                # A copy: the file may be cut while it is mapped.
                yield key, stored.get_tensor(key).clone()


class Stored(Mapping[str, torch.Tensor]):
    """A checkpoint on disk: its manifest, and its tensors by name.

    Each tensor is compared with its digest when it is read.

    Raises
    ------
    CheckpointError
        ``path`` has no manifest, or a damaged one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        file = path / MANIFEST
        if not os.path.lexists(file):
            msg = (
                f"{str(path)!r:.200} has no {MANIFEST}, so ftlab.safe_save has not "
                "written it, or the file is missing. Pass a folder that it has, or "
                "its parent folder for the last one."
            )
            raise CheckpointError(msg)
        try:
            with open_file(file) as opened:
                self.manifest = unsealed(opened.read())
        except (OSError, ValueError, RecursionError) as error:
            raise damaged(file, str(error)) from error
        if self.manifest["schema"] > VERSION:
            msg = (
                f"{str(file)!r} was written by ftlab {self.manifest['ftlab']}, and "
                f"this one ({__version__}) is older: pip install --upgrade ftlab"
            )
            raise SchemaError(msg)
        self._where: dict[str, list[str]] = self.manifest["tensors"]
        for name in [*self.manifest["files"], *(of[0] for of in self._where.values())]:
            if name != PurePosixPath(name).name and ".." in f"/{name}/".split("/"):
                raise damaged(file, f"it names {name!r}, outside of its folder")

    def __len__(self) -> int:
        return len(self._where)

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __getitem__(self, name: str) -> torch.Tensor:
        file, key, digest = self._where[name]
        path = self.path / file
        try:
            with open_file(path), safe_open(path, framework="pt") as stored:
                tensor: torch.Tensor = stored.get_tensor(key).clone()
        except (OSError, SafetensorError, RuntimeError) as error:
            raise damaged(path, str(error), key) from error
        if tensor_digest(tensor) != digest:
            raise damaged(path, "its values are not those that were written", key)
        return tensor

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each tensor."""
        return {name: digest for name, (_, _, digest) in self._where.items()}

    def verify(self) -> None:
        """Read everything.

        Raises
        ------
        CheckpointError
            It names the first file that is missing, cut or changed, and the tensor in
            it where that can be told.
        """
        for name, (size, digest) in self.manifest["files"].items():
            file = self.path / PurePosixPath(name)
            try:
                found = digest_of(file)
            except OSError as error:
                raise damaged(file, error.strerror or str(error)) from error
            if found[0] != size:
                what = f"it has {found[0]:,} bytes, and was written with {size:,}"
                raise damaged(file, what)
            if found[1] != digest:
                self._name_tensor(name)
                raise damaged(file, "its digest is not the one it was written with")

    def _name_tensor(self, file: str) -> None:
        """Raise for the first tensor of a file that is not as it was written."""
        for name, (place, _, _) in self._where.items():
            if place == file:
                self[name]


def damaged(file: Path, why: str, tensor: str = "") -> CheckpointError:
    """Return the error that names a file, and a tensor in it, that was damaged."""
    where = f", in the tensor {tensor}" if tensor else ""
    msg = (
        f"{str(file)!r} is damaged{where}: {why}. Load another checkpoint: "
        f"ftlab.safe_load({str(file.parent.parent)!r}) takes the last whole one."
    )
    return CheckpointError(msg)
