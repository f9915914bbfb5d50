"""Which positions a model looks up for the tokens of a batch, in a table that it has.

`shifts_of` runs the model's own forward up to its blocks, and listens to the lookups:
the one whose indices grow with the tokens is that of the positions. What a row would
get alone, without padding, is looked up in the same way. Positions that are computed
(rotary ones, biases by distance) look nothing up, and only distances matter there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils._python_dispatch import TorchDispatchMode

from ftlab.probes.attention.block_calls import block_calls
from ftlab.probes.attention.blocks import stacks_of
from ftlab.probes.attention.documents import rows_of
from ftlab.probes.attention.given import Given
from ftlab.probes.attention.undisturbed import undisturbed
from ftlab.records.attention import PADDING, Documents
from ftlab.records.attributes import attribute_of

GROWING = 0.5
"""Share of neighbours that grow by one, above which indices are positions: 1 without
documents, 3 of 4 with documents of four tokens; ids of tokens stay near 0."""

LEAST = 4
"""Tokens of a row from which on its indices can be told from others."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shift:
    """A text that begins at another position than it would have alone.

    Attributes
    ----------
    row, token
        Where it begins in the batch.
    by
        Positions that are too many.
    reason
        What stands in front of it.
    """

    row: int
    token: int
    by: int
    reason: Literal["padding", "documents"]


def shifts_of(given: Given, documents: Sequence[Documents]) -> list[Shift]:
    """Find the texts of a batch that begin at a position that is not theirs.

    Examples
    --------
    >>> import torch
    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> from ftlab.probes.attention.documents import Marks, documents_of
    >>> from ftlab.probes.attention.given import of_model
    >>> from ftlab.probes.attention.positions import shifts_of
    >>> size = {"n_embd": 8, "n_layer": 1, "n_head": 1, "vocab_size": 32}
    >>> batch = {"input_ids": torch.tensor([[0, 0, 9, 4, 7, 5]])}
    >>> batch["attention_mask"] = (batch["input_ids"] > 0).long()
    >>> given = of_model(GPT2LMHeadModel(GPT2Config(**size)), batch)
    >>> shifts_of(given, documents_of(batch, Marks()))
    [Shift(row=0, token=2, by=2, reason='padding')]
    """
    ids = rows_of(given.batch.get("input_ids"))
    begins = [_begins(each) for each in documents]
    if ids is None or not any(map(_doubted, begins)) or not has_table(given.model):
        return []
    longest = max(range(len(begins)), key=lambda row: _length(documents[row]))
    first, end = begins[longest][0], begins[longest][0] + _length(documents[longest])
    part = (slice(longest, longest + 1), slice(first, end))
    held = _looked_up(given, given.batch, ids)
    alone = _looked_up(given, {"input_ids": given.batch["input_ids"][part]}, ids[part])
    if held is None or alone is None:
        return []
    return [
        Shift(row, token, by, "documents" if token > tokens[0] else "padding")
        for row, tokens in enumerate(begins)
        for token in tokens
        if token and (by := int(held[min(row, len(held) - 1), token] - alone[0, 0]))
    ]


def _begins(documents: Documents) -> list[int]:
    """Return where texts begin; with a BOS alone, several may be meant to be one."""
    told = documents.sure and documents.told_by != "BOS"
    return documents.starts if told else documents.starts[:1]


def _length(documents: Documents) -> int:
    """Return the positions from the first real token to the last."""
    real = np.flatnonzero(documents.numbers != PADDING)
    return int(real[-1] - real[0]) + 1 if len(real) else 0


def _doubted(starts: Sequence[int]) -> bool:
    return bool(starts) and (starts[0] > 0 or len(starts) > 1)


def has_table(model: torch.nn.Module) -> bool:
    """Tell whether something besides the tokens may be looked up in front of blocks."""
    if getattr(attribute_of(model, "config"), "is_encoder_decoder", False):
        return False  # what its decoder is given is no row of the batch
    tokens = attribute_of(model, "get_input_embeddings")
    known = tokens() if callable(tokens) else None
    blocks = {id(b) for stack in stacks_of(model) for b in stack.blocks}
    held = (each.modules() for each in model.modules() if id(each) in blocks)
    inside = {id(each) for modules in held for each in modules}
    return any(
        isinstance(each, torch.nn.Embedding) and each is not known
        for each in model.modules()
        if id(each) not in inside
    )


class _Lookups(TorchDispatchMode):
    """Notes the indices of all lookups in tables."""

    def __init__(self) -> None:
        super().__init__()
        self.indices: list[torch.Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is torch.ops.aten.embedding.default:
            self.indices.append(args[1].detach())
        return func(*args, **(kwargs or {}))


def _looked_up(given: Given, batch: Mapping[str, Any], ids: Rows) -> Rows | None:
    """Return the positions that are looked up for a batch, row by row."""
    with undisturbed(given.model), _Lookups() as lookups:
        block_calls(stacks_of(given.model), lambda: given.run(batch))
    for indices in lookups.indices:
        rows = rows_of(indices)
        if rows is None or rows.shape[1] != ids.shape[1] or ids.shape[1] < LEAST:
            continue
        if rows.shape[0] not in {1, len(ids)} or np.array_equal(rows, ids):
            continue
        if (np.diff(rows) == 1).mean() > GROWING:
            return rows
    return None
