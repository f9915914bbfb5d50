"""What is within an object that is written to a file: its tensors, and whose they are.

A tensor is a weight's where both are the same memory, as those of a state dict are. A
copy is told by its name, and by its values where several weights have that name but for
an adapter's.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import torch

from ftlab.probes.files.adapter_keys import plain_key

MOST = 100_000
"""At most so many objects are looked at; a larger file is left alone."""

VALUES = 16
"""Values of a weight by which a changed copy is told, at even distances."""

Named = tuple[str, torch.Tensor]
Weights = Mapping[int, Named]
"""Weights with their names, by ``id``."""


def tensors_in(content: Any) -> list[Named] | None:
    """List tensors and arrays of dicts, lists, modules and other objects.

    A tensor has the name that it has where it lies, without the names of what holds
    that. ``None`` where there is too much of it.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.files.saving_content import tensors_in
    >>> state = torch.nn.Linear(2, 1).state_dict()
    >>> [name for name, _ in tensors_in({"model": state, "epoch": 3})]
    ['weight', 'bias']
    """
    found: list[Named] = []
    waiting: list[tuple[str, Any]] = [("", content)]
    seen: dict[int, Any] = {}
    while waiting:
        name, each = waiting.pop()
        if isinstance(each, torch.Tensor):
            found.append((name, each))
        elif type(each).__name__ == "ndarray" and each.dtype.kind in "fiub":
            found.append((name, _as_tensor(each)))
        elif id(each) not in seen:
            seen[id(each)] = each
            waiting.extend(reversed(list(_parts(name, each))))
        if len(seen) + len(found) > MOST:
            return None
    return found


def _parts(name: str, owner: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(owner, torch.nn.Module):
        yield from owner.named_parameters(remove_duplicate=False)
        yield from owner.named_buffers(remove_duplicate=False)
    elif isinstance(owner, dict):
        yield from (
            (key if isinstance(key, str) else name, owner[key]) for key in owner
        )
    elif isinstance(owner, list | tuple | set):
        yield from ((name, each) for each in owner)
    elif not isinstance(owner, type) and hasattr(owner, "__dict__"):
        yield from vars(owner).items()


def _as_tensor(array: Any) -> torch.Tensor:
    """View an array as a tensor of the same memory, or of its shape alone."""
    if array.flags.writeable:
        return torch.from_numpy(array)
    return torch.empty(array.shape, device="meta")


def weights_in(
    tensors: Collection[Named], weights: Weights, known: Collection[int] = ()
) -> tuple[set[int], set[int]]:
    """Return which weights are among the tensors, and the sizes of what is nobody's.

    Parameters
    ----------
    known
        Places of tensors that are known to be something else.
    """
    by_place: dict[int, set[int]] = defaultdict(set)
    by_key: dict[str, list[torch.Tensor]] = defaultdict(list)
    for key, (name, weight) in weights.items():
        by_place[place_of(weight)].add(key)
        by_key[plain_key(name)].append(weight)
    found: set[int] = set()
    unknown: set[int] = set()
    for name, tensor in tensors:
        place = place_of(tensor)
        alike = [w for w in by_key.get(plain_key(name), ()) if w.shape == tensor.shape]
        if place in by_place:
            found |= by_place[place]
        elif alike:
            found |= {id(each) for each in _nearest(tensor, alike)}
        elif place not in known and (tensor.is_floating_point() or tensor.dim() > 1):
            unknown.add(tensor.numel())  # rows of integers are states of generators
    return found, unknown


def is_altered(tensors: Collection[Named], weights: Weights) -> bool:
    """Tell whether a copy of a weight has other values: something was added to it.

    A few values of each are compared, in the type of the copy.
    """
    by_key = {plain_key(name): weight for name, weight in weights.values()}
    places = {place_of(weight) for _, weight in weights.values()}
    pairs = ((by_key.get(plain_key(name)), each) for name, each in tensors)
    return any(
        weight is not None
        and weight.shape == each.shape
        and place_of(each) not in places
        and not torch.equal(_some(each).cpu(), _some(weight).to(each.dtype).cpu())
        for weight, each in pairs
    )


def _some(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // VALUES)]


def place_of(tensor: torch.Tensor) -> int:
    """Return where a tensor's memory begins; all of it is written with any view."""
    try:
        return tensor.untyped_storage().data_ptr() or -id(tensor)
    except (RuntimeError, NotImplementedError):  # sharded, or none of its own
        return -id(tensor)


def _nearest(
    tensor: torch.Tensor, alike: list[torch.Tensor]
) -> Collection[torch.Tensor]:
    """Choose the weights that a copy was made of; any of them where none is equal."""
    if len(alike) == 1:
        return alike
    copy = tensor.detach()
    same = [
        w for w in alike if torch.equal(copy.to(w.device), w.detach().to(copy.dtype))
    ]
    return same or alike
