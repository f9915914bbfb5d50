"""The folder of a checkpoint: whole or not there, and compared with its digests.

It is made under a name that begins with a dot, and gets its own by one rename once all
has been read back. ``checkpoint.json``, the manifest, has a digest of each file and
tensor, and in front one of itself.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import torch
from safetensors import SafetensorError, safe_open

from ftlab.records.errors import CheckpointError
from ftlab.records.plain_files import is_folder, open_file
from ftlab.records.printable import harmless
from ftlab.replay.snapshots.folder import write_tensors

MANIFEST, STATE, VERSION = "checkpoint.json", "state.safetensors", 1
_HEAD = b'{"sha256": "%s",\n'
NAME, _PART = re.compile(r"checkpoint-\d+(-\d+)?$"), re.compile(r"\..*\.(\d+)\.part$")


def sealed(values: Mapping[str, Any]) -> bytes:
    """Write a manifest with its own digest in front."""
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
    digest = hashlib.sha256(f"{flat.dtype} {[*flat.shape]}".encode())
    bits: Any = flat.reshape(-1).view(torch.uint8).numpy()
    digest.update(bits)
    return digest.hexdigest()


def tensors_in(
    file: Path, keys: tuple[str, ...] = ()
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of a safetensors file; complex ones would end the process."""
    with open_file(file), safe_open(file, framework="pt") as stored:
        for key in keys or stored.keys():
            if not str(stored.get_slice(key).get_dtype()).startswith("C"):
                # A copy: the file may be cut while it is mapped.
                yield key, stored.get_tensor(key).clone()


class Stored:
    """A checkpoint on disk: its manifest, and its tensors by name, each compared.

    A CheckpointError names what is missing, damaged, or of a newer ftlab.
    """

    def __init__(self, path: Path) -> None:
        self.path, file = path, path / MANIFEST
        try:
            with open_file(file) as opened:
                self.manifest = unsealed(opened.read())
        except (OSError, ValueError, RecursionError) as error:
            raise damaged(file, error) from error
        if self.manifest["schema"] > VERSION:
            raise damaged(file, "a newer ftlab wrote it: pip install --upgrade ftlab")
        self._where: dict[str, list[str]] = self.manifest["tensors"]
        for name in {*self.manifest["files"], *(of[0] for of in self._where.values())}:
            if ".." in Path(name).parts or Path(name).is_absolute():
                raise damaged(file, f"it names {name!r}, outside of its folder")

    def __getitem__(self, name: str) -> torch.Tensor:
        file, key, digest = self._where[name]
        try:
            ((_, tensor),) = tensors_in(self.path / file, (key,))
        except (OSError, SafetensorError, ValueError, RuntimeError) as error:
            raise damaged(self.path / file, error, key) from error
        if tensor_digest(tensor) != digest:
            raise damaged(self.path / file, "it has other values than written", key)
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
                raise damaged(file, error) from error
            if found != written:
                for tensor in [n for n, of in self._where.items() if of[0] == name]:
                    self[tensor]  # raises where it is this one
                raise damaged(file, "it is not what was written")


def damaged(file: Path, why: object, tensor: str = "") -> CheckpointError:
    """Return the error that names a file, and a tensor in it, that was damaged."""
    where = f", in the tensor {tensor}" if tensor else ""
    msg = (
        f"{str(file)!r} is damaged{where}: {getattr(why, 'strerror', None) or why}. "
        f"Load another: ftlab.safe_load({str(file.parent.parent)!r}) takes the last "
        "that is whole."
    )
    return CheckpointError(msg)


def free_name(root: Path, step: int) -> Path:
    """Return ``root/checkpoint-12``, with a number behind it when that exists."""
    path, number = root / f"checkpoint-{step}", 2
    while path.exists():
        path, number = root / f"checkpoint-{step}-{number}", number + 1
    return path


def checkpoints_in(*roots: Path) -> list[Path]:
    """List the checkpoints of ours, also damaged ones, in the order of their writing.

    Their numbers are no order: a second run in one folder begins to count anew.
    """
    found = [
        (file.stat().st_mtime_ns, at, path)
        for at, root in enumerate(roots)
        for path in (root.iterdir() if is_folder(root) else ())
        for file in (path / MANIFEST, path / STATE)
        if NAME.match(path.name) and file.exists()
    ]
    return list(dict.fromkeys(path for _, _, path in sorted(found)))


def write_checkpoint(
    folder: Path,
    entries: Mapping[str, Any],
    tensors: Mapping[str, torch.Tensor],
    write_model: Callable[[Path], None],
) -> None:
    """Write all of it, or nothing; a CheckpointError tells why.

    Each tensor that is in no file of ``write_model``, bit for bit, goes into one of
    ours. What is written is then found as what others have written is: in the file.
    """
    digests = {name: tensor_digest(each) for name, each in tensors.items()}
    there: dict[str, tuple[str, str]] = {}
    with _whole(folder) as part:
        part.mkdir()
        write_model(part)
        for file in [*part.rglob("*.safetensors"), part / STATE]:
            if file.name == STATE:
                own = {d: name for name, d in digests.items() if d not in there}
                write_tensors(file, {name: tensors[name] for name in own.values()})
            place = file.relative_to(part).as_posix()
            there |= {tensor_digest(t): (place, key) for key, t in tensors_in(file)}
        lost = [name for name, digest in digests.items() if digest not in there]
        if lost:
            msg = f"{lost[0]} was read back with other values"
            raise OSError(msg)
        files = [each for each in part.rglob("*") if each.is_file()]
        _sync(*files)
        manifest = {
            **entries,
            "tensors": {name: (*there[d], d) for name, d in digests.items()},
            "files": {f.relative_to(part).as_posix(): file_digest(f) for f in files},
        }
        (part / MANIFEST).write_bytes(sealed(manifest))


def copy_checkpoint(folder: Path, copy: Path) -> None:
    """Write a second one, which is read back as well; raises as `write_checkpoint`."""
    with _whole(copy) as part:
        shutil.copytree(folder, part)


def keep_last(root: Path, keep: int) -> None:
    """Remove all checkpoints of ours but the last; a kill leaves none half removed."""
    for path in checkpoints_in(root)[:-keep]:
        shutil.rmtree(path.rename(_part_of(path)), ignore_errors=True)


def _part_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.{os.getpid()}.part")


def _sync(*paths: Path) -> None:
    for path in paths:
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


@contextlib.contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """Give the part to write to; check and publish it, or leave nothing and say why.

    What killed processes have left beside it goes, too.
    """
    part = _part_of(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for each in folder.parent.iterdir():
            process = _PART.match(each.name)
            if process and not psutil.pid_exists(int(process[1])):
                shutil.rmtree(each, ignore_errors=True)
        yield part
        Stored(part).verify()
        _sync(*part.rglob("*"), part)
        part.rename(folder)
        _sync(folder.parent)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        if not isinstance(error, OSError | SafetensorError | CheckpointError):
            raise
        msg = (
            f"The checkpoint {str(folder)!r} cannot be written: "
            f"{getattr(error, 'strerror', None) or error}. Those of before are left as "
            "they were. Free some space, or pass a folder on a different disk."
        )
        raise CheckpointError(msg) from error
