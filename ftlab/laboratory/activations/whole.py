"""Blocks, embeddings, and whatever else has a counterpart in the library."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from ftlab.laboratory.activations.component import Mistake, Site, register
from ftlab.laboratory.activations.norms import NORM
from ftlab.records.activation import PartFault


def _paired(site: Site) -> bool:
    return site.library is not None


@register(r".*Embedding(s)?", "embedding", own=False)
def embedding(site: Site) -> Iterator[PartFault]:
    """Compare with the library's: its scale, above all."""
    yield from site.against_library(())


@register(_paired, "block", own=False)
def block(site: Site) -> Iterator[PartFault]:
    """Compare with the library's, each norm left out in turn."""
    yield from site.against_library(_mistakes(site))


def _mistakes(site: Site) -> Iterator[Mistake]:
    import re

    library = site.library
    if library is None:
        return
    for name, module in site.module.named_children():
        if re.fullmatch(NORM, type(module).__name__):
            yield Mistake(
                f"without {name}: the norm is there, and not used",
                f"Call {name} where the library does.",
                partial(_without, site, name),
            )
    if site.input.shape == site.output.shape:
        yield Mistake(
            "without the residual: what the block is given is not added",
            "Add the hidden states that went into the block.",
            lambda: _first(library.run(site.args, site.kwargs)) - site.input,
        )


def _without(site: Site, name: str) -> Any:
    inner = {name: torch.nn.Identity()}
    return site.library and site.library.run(site.args, site.kwargs, inner=inner)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value
