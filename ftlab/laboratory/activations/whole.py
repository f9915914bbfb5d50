"""Blocks, embeddings, and whatever else has a counterpart in the library."""

import re
from collections.abc import Iterator
from functools import partial

import torch

from ftlab.laboratory.activations.component import Mistake, Site, first_tensor, register
from ftlab.laboratory.activations.norms import NORM
from ftlab.records.activation import PartFault


@register(r".*Embeddings?", "embedding", own=False)
def embedding(site: Site) -> Iterator[PartFault]:
    """Compare with the library's: its scale, above all."""
    yield from site.against_library(())


@register(lambda site: site.library is not None, "block", own=False)
def block(site: Site) -> Iterator[PartFault]:
    """Compare with the library's, each norm and the residual left out in turn."""
    yield from site.against_library(_mistakes(site))


def _mistakes(site: Site) -> Iterator[Mistake]:
    library = site.library
    if library is None:
        return
    run = partial(library.run, site.args, site.kwargs)
    for name, module in site.module.named_children():
        if re.fullmatch(NORM, type(module).__name__):
            said = f"without {name}: the norm is there, and not used"
            without = partial(run, inner={name: torch.nn.Identity()})
            yield Mistake(said, f"Call {name} where the library does.", without)
    said = "without the residual: what the block is given is not added"
    fix = "Add the hidden states that went into the block."
    yield Mistake(said, fix, lambda: first_tensor(run()) - site.input)
