"""An execution in a folder: made here, compared elsewhere.

The folder holds ``capture.json`` and safetensors: the batch, what every module was
given and returned, gradients, what rounding moves each of them, and a digest of each
weight.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from ftlab.executions.listening import Place, shared_name
from ftlab.executions.passes import Beside, Distances, Measured
from ftlab.executions.side import Side, start_again, undisturbed
from ftlab.executions.sketches import between, sketched
from ftlab.executions.spool import Spool
from ftlab.executions.tape import Recording, Tape
from ftlab.executions.tokens import Grid, Meeting
from ftlab.records.errors import BadValueError

SCHEMA = 1
FILE = "capture.json"
SHARD = 512 * 2**20
"""Bytes after which a further file of tensors is begun."""
PACKAGES = ("torch", "transformers", "peft", "bitsandbytes")


@dataclass(frozen=True, slots=True)
class Captured:
    """An execution that a folder holds.

    Attributes
    ----------
    folder
        Where it is.
    batch
        What the model was called with.
    manifest
        What ``capture.json`` says.
    """

    folder: Path
    batch: Mapping[str, Any]
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The folder's name, and what it was made with."""
        made = self.manifest.get("made_with", {})
        return f"{self.folder.name} (torch {made.get('torch', '?')})"

    @property
    def statistics(self) -> bool:
        """Whether it holds sketches alone, no tensors."""
        return bool(self.manifest.get("statistics"))

    @property
    def weights(self) -> Mapping[str, str]:
        """Digest by name of each parameter and buffer."""
        found: Mapping[str, str] = self.manifest["weights"]
        return found

    def load(self, tape: Tape) -> tuple[Measured, Measured]:
        """Put the tensors on a tape; return local and carried floors."""
        local = Measured(Distances(), Distances())
        carried = Measured(Distances(), Distances())
        for entry, tensors in self._entries():
            place = Place(*entry["place"])
            forward = entry["phase"] == "forward"
            kept = tape.values if forward else tape.gradients
            kept[place] = tape.spool.put(tensors["value"])
            for measured, name in ((local, "floor"), (carried, "carried")):
                if name in tensors:
                    one = measured.values if forward else measured.gradients
                    one.apart[place] = tensors[name]
                    one.sizes[place] = tensors["size"]
        return local, carried

    def _entries(self) -> Iterator[tuple[Mapping[str, Any], dict[str, torch.Tensor]]]:
        by_file: dict[str, list[Mapping[str, Any]]] = {}
        for entry in self.manifest["tensors"]:
            by_file.setdefault(entry["file"], []).append(entry)
        for name, entries in by_file.items():
            with safe_open(self.folder / name, framework="pt") as file:
                held = set(file.keys())
                for entry in entries:
                    parts = ("value", "size", "floor", "carried")
                    keys = {part: f"{entry['key']}.{part}" for part in parts}
                    yield (
                        entry,
                        {p: file.get_tensor(k) for p, k in keys.items() if k in held},
                    )


def write_capture(side: Side, folder: Path, *, statistics: bool = False) -> None:
    """Execute a side and write what it does into a new folder.

    Parameters
    ----------
    statistics
        Write a sketch of each tensor, see `ftlab.executions.sketches`.

    Raises
    ------
    BadValueError
        The folder exists and is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        msg = f"{folder} exists and is not empty; capture writes into a new folder."
        raise BadValueError(msg)
    folder.mkdir(parents=True, exist_ok=True)
    with Spool() as spool, undisturbed(side) as start:
        execute = _sketched if statistics else _executed
        tape, local, carried = execute(side, spool, lambda: start_again(side, start))
        entries = list(_written(folder, tape, local, carried))
    _write_batch(folder, side.batch)
    manifest = {
        "schema": SCHEMA,
        "statistics": statistics,
        "made_with": dict(_made_with()),
        "weights": dict(_digests(side.model)),
        "tensors": entries,
        "plain": {k: v for k, v in side.batch.items() if _is_plain(v)},
    }
    text = json.dumps(manifest, indent=1)
    (folder / FILE).write_text(text, encoding="utf-8")


def _executed(
    side: Side, spool: Spool, again: Callable[[], None]
) -> tuple[Tape, Measured, Measured]:
    """Return what a side does, and its floors: local and carried."""
    tape, alike = Tape(spool), Meeting(grid := Grid.of(side.batch), grid)
    again()
    side.run(Recording(tape))
    floor = Beside(tape, alike, put=tape)
    again()
    side.run(floor, wide=True)
    carried = Beside(tape, alike)
    again()
    side.run(carried, wide=True, backward=False)
    return tape, floor.measured, carried.measured


def _sketched(
    side: Side, spool: Spool, again: Callable[[], None]
) -> tuple[Tape, Measured, Measured]:
    again()
    tape = sketched(side, spool)
    again()
    exact = sketched(side, spool, wide=True)
    return tape, Measured(Distances(), Distances()), between(tape, exact)


def read_capture(folder: Path) -> Captured:
    """Read a folder that `write_capture` has made.

    Raises
    ------
    BadValueError
        It is none, or was made by a newer version.
    """
    try:
        manifest = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = (
            f"{folder} is no capture ({type(error).__name__}: {error}); make one with "
            'ftlab.capture(model, batch, "folder").'
        )
        raise BadValueError(msg) from error
    if manifest.get("schema") != SCHEMA:
        msg = (
            f"{folder} has schema {manifest.get('schema')}; this ftlab reads {SCHEMA}."
        )
        raise BadValueError(msg)
    with safe_open(folder / "batch.safetensors", framework="pt") as file:
        keys = list(file.keys())  # safe_open is no dictionary
        tensors = {key: file.get_tensor(key) for key in keys}
    return Captured(folder, {**manifest["plain"], **tensors}, manifest)


def digest(tensor: torch.Tensor) -> str:
    """Return a digest of a tensor's dtype, shape and bytes.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.captures import digest
    >>> digest(torch.ones(2)) == digest(torch.ones(2)), len(digest(torch.ones(2)))
    (True, 16)
    """
    plain = tensor.detach().contiguous().cpu()
    found = hashlib.sha256(f"{plain.dtype} {tuple(plain.shape)}".encode())
    if plain.numel():
        held: Any = plain.reshape(-1).view(torch.uint8).numpy()
        found.update(held)
    return found.hexdigest()[:16]


def _digests(model: torch.nn.Module) -> Iterator[tuple[str, str]]:
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if tensor.layout == torch.strided and not tensor.is_meta:
            yield shared_name(name), digest(tensor)


def _made_with() -> Iterator[tuple[str, str]]:
    yield "python", platform.python_version()
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue
    if torch.cuda.is_available():
        yield "device", torch.cuda.get_device_name()


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _write_batch(folder: Path, batch: Mapping[str, Any]) -> None:
    tensors = {
        key: value.detach().cpu().contiguous().clone()
        for key, value in batch.items()
        if isinstance(value, torch.Tensor)
    }
    save_file(tensors, folder / "batch.safetensors")


def _written(
    folder: Path, tape: Tape, floor: Measured, carried: Measured
) -> Iterator[Mapping[str, Any]]:
    """Write tensors in files of some size; yield what stands where."""
    shard: dict[str, torch.Tensor] = {}
    count, number = 0, 0
    for phase, kept in (("forward", tape.values), ("backward", tape.gradients)):
        local, free = (
            (each.values if phase == "forward" else each.gradients)
            for each in (floor, carried)
        )
        for place, where in kept.items():
            key = f"{number:06d}"
            shard[f"{key}.value"] = tape.spool.get(where).clone()
            for part, measured in (
                ("size", local.sizes.get(place, free.sizes.get(place))),
                ("floor", local.apart.get(place)),
                ("carried", free.apart.get(place)),
            ):
                if measured is not None:
                    shard[f"{key}.{part}"] = measured.clone()
            yield {
                "place": list(place),
                "phase": phase,
                "key": key,
                "file": f"tensors-{count:05d}.safetensors",
            }
            number += 1
            if sum(tensor.nbytes for tensor in shard.values()) > SHARD:
                save_file(shard, folder / f"tensors-{count:05d}.safetensors")
                shard, count = {}, count + 1
    if shard:
        save_file(shard, folder / f"tensors-{count:05d}.safetensors")
