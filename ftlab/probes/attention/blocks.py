"""The blocks of a model in which attention happens."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch

_ATTENTION = re.compile(r"attention|attn", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stack:
    """Blocks that follow each other.

    Attributes
    ----------
    path
        Of their list within the model.
    blocks
        In the order in which they are called.
    """

    path: str
    blocks: tuple[torch.nn.Module, ...]


def stacks_of(model: torch.nn.Module) -> list[Stack]:
    """Return the lists of blocks that attend, none of them inside another.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.attention.blocks import stacks_of
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)
    >>> stacks_of(torch.nn.TransformerEncoder(layer, 2))[0].path
    'layers'
    """
    found: list[Stack] = []
    for path, module in model.named_modules():
        inside = any(path.startswith(f"{stack.path}.") for stack in found)
        if isinstance(module, torch.nn.ModuleList) and not inside:
            blocks = tuple(module)
            if any(next(attentions_in(block), None) is not None for block in blocks):
                found.append(Stack(path, blocks))
    return found


def attentions_in(block: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """Yield the modules of a block that attend, outer ones first."""
    for _, module in block.named_modules():
        if _ATTENTION.search(type(module).__name__) and module is not block:
            yield module
