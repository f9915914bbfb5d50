"""The manifest of a checkpoint: what is in it, with a digest of each file and tensor.

It begins with the digest of all that follows, so that its own damage is seen as well.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from ftlab.records.errors import CheckpointError
from ftlab.records.plain_files import open_file
from ftlab.records.printable import harmless

MANIFEST, STATE, VERSION = "checkpoint.json", "state.safetensors", 1
_HEAD = b'{"sha256": "%s",\n'


def sealed(values: Mapping[str, Any]) -> bytes:
    """Write a manifest with its own digest in front.

    Examples
    --------
    >>> from ftlab.replay.checkpoints.manifest import sealed, unsealed
    >>> unsealed(sealed({"step": 12}))["step"]
    12
    """
    body = json.dumps({"schema": VERSION, **values}, allow_nan=False).encode()[1:]
    return _HEAD % hashlib.sha256(body).hexdigest().encode() + body


def unsealed(data: bytes) -> dict[str, Any]:
    """Read a manifest; a ValueError tells that it is not what was written."""
    body = data[len(_HEAD) - 2 + 64 :]
    if data != _HEAD % hashlib.sha256(body).hexdigest().encode() + body:
        msg = "its digest is not the one that it was written with"
        raise ValueError(msg)
    return dict(harmless(json.loads(data)))


def file_digest(file: Path) -> list[int | str]:
    """Return the size of a file, and the SHA-256 of what is in it."""
    digest = hashlib.sha256()
    with open_file(file) as opened:
        while block := opened.read(1 << 20):
            digest.update(block)
        return [opened.tell(), digest.hexdigest()]


def tensor_digest(tensor: torch.Tensor) -> str:
    """Return the SHA-256 of a tensor's dtype, shape and bits."""
    flat = tensor.detach().cpu().contiguous()
    bits: Any = flat.reshape(-1).view(torch.uint8).numpy()
    digest = hashlib.sha256(f"{flat.dtype} {tuple(flat.shape)}".encode())
    digest.update(bits)
    return digest.hexdigest()


def tensors_in(file: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of a safetensors file; complex ones would end the process."""
    with open_file(file), safe_open(file, framework="pt") as stored:
        for key in stored.keys():  # noqa: SIM118  no dictionary
            if not str(stored.get_slice(key).get_dtype()).startswith("C"):
                # A copy: the file may be cut while it is mapped.
                yield key, stored.get_tensor(key).clone()


class Stored(Mapping[str, torch.Tensor]):
    """A checkpoint on disk: its manifest, and its tensors by name, each compared.

    A CheckpointError names what is missing, damaged, or of a newer ftlab.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        file = path / MANIFEST
        try:
            with open_file(file) as opened:
                self.manifest = unsealed(opened.read())
        except (OSError, ValueError, RecursionError) as error:
            raise damaged(file, getattr(error, "strerror", None) or error) from error
        if self.manifest["schema"] > VERSION:
            msg = f"{str(file)!r} is of a newer ftlab: pip install --upgrade ftlab"
            raise CheckpointError(msg)
        self._where: dict[str, list[str]] = self.manifest["tensors"]
        for name in {*self.manifest["files"], *(of[0] for of in self._where.values())}:
            if ".." in Path(name).parts or Path(name).is_absolute():
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
            raise damaged(path, error, key) from error
        if tensor_digest(tensor) != digest:
            raise damaged(path, "its values are not those that were written", key)
        return tensor

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each tensor."""
        return {name: digest for name, (_, _, digest) in self._where.items()}

    def verify(self) -> None:
        """Read everything; a CheckpointError names the file, and the tensor in it."""
        for name, written in self.manifest["files"].items():
            file = self.path / name
            try:
                found = file_digest(file)
            except OSError as error:
                raise damaged(file, error.strerror) from error
            if found != written:
                for tensor in [n for n, of in self._where.items() if of[0] == name]:
                    self[tensor]  # raises where it is this one
                raise damaged(file, "it is not what was written")


def damaged(file: Path, why: object, tensor: str = "") -> CheckpointError:
    """Return the error that names a file, and a tensor in it, that was damaged."""
    where = f", in the tensor {tensor}" if tensor else ""
    msg = (
        f"{str(file)!r} is damaged{where}: {why}. Load another checkpoint: "
        f"ftlab.safe_load({str(file.parent.parent)!r}) takes the last whole one."
    )
    return CheckpointError(msg)
