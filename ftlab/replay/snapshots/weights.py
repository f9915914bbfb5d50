"""Weights in a snapshot: written, or named with a checksum by which they are known."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from ftlab.records.errors import AttachError
from ftlab.records.name_words import listed
from ftlab.replay.snapshots.codec import Packer, Unpacker
from ftlab.replay.tracing.modules import clean_name, quantization_tensors

_CHUNK = 1 << 18
_FACTOR = 0x5851F42D4C957F2D
_MASK = (1 << 64) - 1


def checksum(tensors: Iterable[torch.Tensor]) -> str:
    """Return 16 hexadecimal digits that differ when any bit of ``tensors`` does.

    Whole numbers only, so that every device comes to the same digits.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.snapshots.weights import checksum
    >>> checksum([torch.ones(3)]) == checksum([torch.ones(3)])
    True
    >>> checksum([torch.tensor([1.0, 2.0])]) == checksum([torch.tensor([2.0, 1.0])])
    False
    """
    total = 0
    for tensor in tensors:
        total = (total * _FACTOR + 1 + _of_one(tensor)) & _MASK
    return f"{total:016x}"


def _of_one(tensor: torch.Tensor) -> int:
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    odd = torch.arange(_CHUNK, device=flat.device, dtype=torch.int64)
    odd = (odd * 0x2545F4914F6CDD1D) | 1
    total = flat.numel()
    for start in range(0, flat.numel(), 8 * _CHUNK):
        part = flat[start : start + 8 * _CHUNK]
        if part.numel() % 8 or part.storage_offset() % 8 or part.data_ptr() % 8:
            missing = -part.numel() % 8
            part = torch.cat([part, part.new_zeros(missing)])
        words = part.view(torch.int64)
        # High bits are mixed down: a product alone keeps them at the top.
        mixed = words * odd[: words.numel()]
        mixed ^= mixed >> 29
        total = (total * _FACTOR + int(mixed.sum())) & _MASK
    return total


def named(model: torch.nn.Module) -> list[tuple[list[str], torch.nn.Parameter]]:
    """List the parameters with all their names; tied ones have several."""
    found: dict[int, tuple[list[str], torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        found.setdefault(id(parameter), ([], parameter))[0].append(clean_name(name))
    return list(found.values())


def named_buffers(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield all buffers, those that ``state_dict`` leaves out too."""
    for name, buffer in model.named_buffers(remove_duplicate=False):
        yield clean_name(name), buffer


def pack_weights(
    model: torch.nn.Module,
    packer: Packer,
    before: Mapping[int, torch.Tensor],
    *,
    everything: bool,
    checksums: bool = True,
) -> dict[str, Any]:
    """Return the entries of the manifest, and put the tensors into ``packer``.

    Parameters
    ----------
    before
        Values at the start, by ``id``, of what has changed since.
    everything, checksums
        Write frozen weights too; read those that are not written, to know them again.
    """
    entries = []
    for names, parameter in named(model):
        scales = quantization_tensors(parameter)
        value = before.get(id(parameter), parameter.detach())
        entry: dict[str, Any] = {**_facts(names, value), "scales": len(scales)}
        entry["trainable"] = parameter.requires_grad
        if parameter.requires_grad or everything:
            entry["value"] = packer.pack(value, names[0])
            entry["scale_values"] = packer.pack(scales, f"{names[0]}.quant_state")
        elif checksums:
            entry["checksum"] = checksum([value, *scales])
        entries.append(entry)
    buffers = [
        {**_facts([name], buffer), "value": packer.pack(buffer, name)}
        for name, buffer in named_buffers(model)
    ]
    return {"parameters": entries, "buffers": buffers}


def _facts(names: list[str], tensor: torch.Tensor) -> dict[str, Any]:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"names": names, "shape": list(tensor.shape), "dtype": dtype}


def check_weights(packed: Mapping[str, Any], model: torch.nn.Module) -> None:
    """Refuse a model that is not the one of the snapshot.

    Raises
    ------
    AttachError
        It names what differs.
    """
    mine = {name: p for names, p in named(model) for name in names}
    entries = {name: e for e in packed["parameters"] for name in e["names"]}
    _check_names(entries, mine)
    buffers = dict(named_buffers(model))
    _check_names({e["names"][0]: e for e in packed["buffers"]}, buffers, "buffer")
    found = [_difference(entry, mine) for entry in packed["parameters"]]
    found += [_difference(entry, buffers) for entry in packed["buffers"]]
    differences = [each for each in found if each]
    if differences:
        more = len(differences) - 3
        shown = "; ".join(differences[:3]) + (f"; and {more} more" if more > 0 else "")
        msg = (
            f"This model is not the one of the run: {shown}. Load the same base "
            "model, with the same dtype and quantization."
        )
        raise AttachError(msg)


def _check_names(
    wanted: Mapping[str, Any], mine: Mapping[str, Any], what: str = "parameter"
) -> None:
    missing = [name for name in wanted if name not in mine]
    extra = [name for name in mine if name not in wanted]
    if not missing and not extra:
        return
    parts = [f"it has no {what} {listed(missing, 3)}"] if missing else []
    parts += [f"the run knows no {what} {listed(extra, 3)}"] if extra else []
    adapter = any("lora_" in name for name in missing) and not any(
        "lora_" in name for name in mine
    )
    remedy = (
        "It has no adapter: wrap it in peft.get_peft_model(model, LoraConfig(...)), as "
        "in the run."
        if adapter
        else "Build the model and its adapters as in the run."
    )
    msg = f"This model does not fit the run: {', and '.join(parts)}. {remedy}"
    raise AttachError(msg)


def _difference(entry: Mapping[str, Any], mine: Mapping[str, torch.Tensor]) -> str:
    name = entry["names"][0]
    tensor = mine[name]
    facts = _facts(entry["names"], tensor)
    for what in ("shape", "dtype"):
        if entry[what] != facts[what]:
            return f"{name} has {what} {facts[what]}, in the run it had {entry[what]}"
    untied = [each for each in entry["names"] if mine[each] is not tensor]
    if untied:
        return f"{name} and {untied[0]} are two parameters, in the run they were tied"
    scales = quantization_tensors(tensor)
    if len(scales) != entry.get("scales", len(scales)):
        return f"{name} is not quantized in the same way"
    if "checksum" in entry and checksum([tensor, *scales]) != entry["checksum"]:
        return f"{name} has other values"
    return ""


def load_weights(
    packed: Mapping[str, Any], unpacker: Unpacker, model: torch.nn.Module
) -> None:
    """Write the values into a model that `check_weights` has let pass."""
    mine = {name: p for names, p in named(model) for name in names}
    buffers = dict(named_buffers(model))
    with torch.no_grad():
        for entry in packed["parameters"]:
            parameter = mine[entry["names"][0]]
            if "value" in entry:
                _copy(parameter, unpacker.unpack(entry["value"]))
                scales = unpacker.unpack(entry["scale_values"])
                for mine_, theirs in zip(
                    quantization_tensors(parameter), scales, strict=True
                ):
                    _copy(mine_, theirs)
            if parameter.requires_grad != entry["trainable"]:
                parameter.requires_grad_(entry["trainable"])
        for entry in packed["buffers"]:
            _copy(buffers[entry["names"][0]], unpacker.unpack(entry["value"]))


def _copy(mine: torch.Tensor, theirs: torch.Tensor) -> None:
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        msg = (
            f"a value of shape {list(theirs.shape)} and {theirs.dtype} was stored for "
            f"one of shape {list(mine.shape)} and {mine.dtype}"
        )
        raise ValueError(msg)
    mine.detach().copy_(theirs)
